import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.writeup.view_samples import evidence, href, ladder, measured, roofline
from writeup import figure
from writeup.evidence import END, START
from writeup.views import Role, Tone, Verdict

ROOT = Path(__file__).resolve().parents[2]
MARKED = re.compile(f"{START}[0-9a-f]{{12}}{START}[^{START}{END}]*{END}")


def address(found):
    return href("stories/softmax/index.html", found)


def parsed(svg):
    return ET.fromstring(svg)  # noqa: S314 -- our own drawing


def drawn(block=None):
    return figure.roofline(block or roofline(), prefix="r", address=address)


def texts(svg):
    return ["".join(t.itertext()) for t in parsed(svg).iter("text")]


def test_every_digit_of_a_figure_is_marked():
    for picture in (drawn(), figure.ladder(ladder(), prefix="l", address=address)):
        for text in [*texts(picture.svg), *(e.text or "" for e in parsed(picture.svg))]:
            assert not re.search(r"\d", MARKED.sub("", text)), text
        assert any(START in text for text in texts(picture.svg))


def test_marks_of_a_figure_are_those_of_the_evidence_it_says_it_used():
    picture = drawn()
    assert set(re.findall(f"{START}(.*?){START}", picture.svg)) == {e.key for e in picture.used}


def test_two_equal_texts_of_different_evidence_keep_their_own_marks():
    same = (("eager", Role.BASELINE, 2e9), ("fused", Role.STEP, 2e9))
    block = roofline(same)
    keys = {point.rate.estimate.key for point in block.points}
    assert len(keys) == 2
    shown = "".join(texts(drawn(block).svg))
    assert all(shown.count(key) == 1 for key in keys)


def test_ticks_are_evidence_of_the_form_tick_that_says_its_value_and_unit():
    ticks = [e for e in drawn().used if e.form == "tick"]
    assert ("10.0", "flop/byte") in [tick.args for tick in ticks]
    assert {tick.unit for tick in ticks} == {"flop/byte", "flop/s"}
    assert all(tick.at == () for tick in ticks)


def test_a_figure_needs_no_inline_style_and_no_colour_of_its_own():
    svg = drawn().svg
    assert "style" not in svg
    assert not re.search(r"#[0-9a-f]{6}\b", svg)
    assert "f-step" in svg
    assert "s-roof" in svg


def test_ids_of_a_figure_start_with_its_prefix_and_every_reference_is_met():
    svg = drawn().svg
    ids = set(re.findall(r'\sid="([^"]+)"', svg))
    assert ids
    assert all(found.startswith("r-") for found in ids)
    wanted = set(re.findall(r"url\(#([^)]+)\)", svg)) | set(re.findall(r'href="#([^"]+)"', svg))
    assert wanted <= ids


def test_each_point_and_ceiling_links_to_its_measurement():
    block = roofline()
    root = parsed(drawn(block).svg)
    links = {a.get("href") for a in root.iter("a")}
    shown = [p.rate.estimate for p in block.points] + [c.rate.estimate for c in block.ceilings]
    assert {address(e) for e in shown} <= links
    assert all(a.get("aria-label") for a in root.iter("a"))


def test_evidence_without_an_address_is_drawn_without_a_link():
    svg = figure.roofline(roofline(), prefix="r", address=lambda _: "").svg
    assert "<a " not in svg


def test_alternative_text_comes_with_its_marks():
    root = parsed(drawn().svg)
    assert root[0].tag == "title"
    assert root[1].tag == "desc"
    assert START in root[1].text
    assert root.get("aria-labelledby") == root[0].get("id")


def test_an_attempt_is_hollow_and_a_step_is_not():
    block = roofline((("eager", Role.BASELINE, 1e9), ("odd", Role.ATTEMPT, 2e9)))
    svg = drawn(block).svg
    assert 'class="f-paper s-attempt"' in svg
    assert "f-attempt" not in svg


def test_a_variant_that_could_not_run_keeps_its_row_of_the_ladder_with_its_status():
    shown = texts(figure.ladder(ladder(), prefix="l", address=address).svg)
    assert "odd" in shown
    assert "unsupported" in shown


def test_a_ladder_of_nothing_timed_is_refused():
    block = ladder()
    untimed = replace(
        block,
        rungs=tuple(replace(r, time=None, status=Verdict(Tone.FAILED, "x")) for r in block.rungs),
    )
    with pytest.raises(ValueError, match="timed"):
        figure.ladder(untimed, prefix="l", address=address)


def test_a_roofline_of_no_positive_intensity_is_refused():
    block = roofline()
    point = replace(block.points[0], intensity=evidence("0", 0.0))
    with pytest.raises(ValueError, match="positive"):
        drawn(replace(block, points=(point,)))


def test_steps_that_span_decades_still_fit_on_the_ladder():
    block = ladder()
    slow = replace(block.rungs[0], time=measured("9 s", 9.0))
    shown = texts(
        figure.ladder(
            replace(block, rungs=(slow, *block.rungs[1:])), prefix="l", address=address
        ).svg
    )
    assert any("9 s" in text for text in shown)


def test_labels_that_would_touch_are_set_apart_in_order():
    heights = figure._apart([10.0, 11.0, 40.0], [0, 1, 2], gap=8.0)
    assert heights == [6.5, 14.5, 40.0]


def test_labels_of_close_levels_stand_above_them_all_in_their_order():
    assert figure._above([100.0, 104.0, 200.0], room=12.0) == [104.0, 116.0, 200.0]


def test_slopes_that_lie_close_together_are_all_labelled():
    block = roofline()
    dram = block.ceilings[0]
    close = replace(dram, name="DRAM read", rate=measured("6.4 GB/s", 6.4e9, "ceilings/read"))
    more = replace(dram, name="datasheet", rate=measured("7.7 GB/s", 7.7e9), measured=False)
    found = drawn(replace(block, ceilings=(*block.ceilings, close, more))).svg
    shown = " ".join(texts(found))
    assert all(name in shown for name in ("DRAM copy", "DRAM read", "datasheet"))
    assert "stroke-dasharray" in found


def test_a_variant_named_like_markup_stays_text():
    block = roofline((("eager", Role.BASELINE, 1e9), ("<script>$x_1$&", Role.STEP, 2e9)))
    svg = drawn(block).svg
    assert "<script" not in svg
    assert any("<script>$x_1$&" in text for text in texts(svg))


SCRIPT = """
from tests.writeup.view_samples import href, ladder, roofline
from writeup import figure
address = lambda found: href("stories/softmax/index.html", found)
import sys
for draw, block in ((figure.roofline, roofline()), (figure.ladder, ladder())):
    sys.stdout.write(draw(block, prefix="p", address=address).svg)
"""


def test_a_figure_has_the_same_bytes_in_every_process():
    outputs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "TZ": zone},
            capture_output=True,
            check=True,
        ).stdout
        for seed, zone in (("1", "UTC"), ("4242", "Asia/Tokyo"))
    ]
    assert outputs[0] == outputs[1]
    assert b"<svg" in outputs[0]


def test_matplotlib_is_not_loaded_before_a_figure_is_drawn():
    code = "import sys, writeup.figure, writeup.render; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
