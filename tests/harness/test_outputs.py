"""Who writes where."""

from harness.outputs import Pool

NAMES = ["eager", "twin-a", "twin-b", "copy"]


def deal(seed, buffers=2):
    return Pool.deal(NAMES, buffers, object, seed)


def test_nobody_shares_a_buffer():
    pool = deal("1/softmax.01")
    buffers = [id(buffer) for name in NAMES for buffer in pool.of(name)]
    assert len(set(buffers)) == 2 * len(NAMES)


def test_the_same_seed_deals_the_same_places():
    assert deal("1/softmax.01").dealt == deal("1/softmax.01").dealt


def test_another_block_deals_anew():
    dealt = [tuple(deal(f"1/softmax.{block:02d}").dealt.values()) for block in range(12)]
    assert len(set(dealt)) > 3


def test_more_buffers_leave_everyone_in_their_place():
    assert deal("s", 1).dealt == deal("s", 9).dealt
