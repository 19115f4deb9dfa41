"""What a person sees."""

from harness.progress import Progress

GROUP = {
    "event": "group",
    "case": "wide",
    "mode": "host",
    "participants": ["eager", "fused"],
    "order": [[0, 1], [1, 0]],
    "samples": {"eager": [200, 220], "fused": [100, 110]},
}


def watched(*, terminal):
    seen = []
    progress = Progress(write=seen.append, terminal=terminal)
    progress.block("softmax", 2, 12)
    progress.event("softmax", "eager", {"event": "about", "case": "wide", "mode": "host"})
    progress.event("softmax", "eager", GROUP)
    progress.block_done(2, 12, 30)
    return progress, seen


def test_elsewhere_than_on_a_terminal_lines_are_plain():
    _, seen = watched(terminal=False)
    assert seen == ["softmax block 2 of 12: softmax.wide host, 2 rounds: fused 2.000\n"]


def test_on_a_terminal_one_line_changes_in_place():
    progress, seen = watched(terminal=True)
    assert all(text.startswith("\r") and "\n" not in text for text in seen)
    progress.end()
    assert seen[-1].startswith("\r")


def test_time_left_is_told_once_a_block_has_been_timed():
    progress, seen = watched(terminal=False)
    progress.event("softmax", "eager", GROUP)
    assert "about 5 min left" in seen[-1]


def test_the_running_ratio_is_over_all_blocks_so_far():
    progress, seen = watched(terminal=False)
    progress.block("softmax", 3, 12)
    slower = GROUP | {"samples": {"eager": [100, 100], "fused": [200, 200]}}
    progress.event("softmax", "eager", slower)
    # The median of the logarithms of 2 and of one half.
    assert "fused 1.000" in seen[-1]
