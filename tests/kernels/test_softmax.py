"""The CPU variants of softmax against float64, on shapes and values that hurt."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from kernels.softmax import (
    blocked,
    chunked,
    compiled,
    eager,
    huge_pages,
    inplace,
    naive,
    reference,
    split,
)

# Odd block, chunk and piece sizes, so that small shapes have several of each and a rest.
VARIANTS = {
    "eager": eager.softmax,
    "naive": naive.softmax,
    "inplace": inplace.softmax,
    "blocked": partial(blocked.softmax, block_bytes=1000),
    "huge-pages": huge_pages.softmax,
    "chunked": partial(chunked.softmax, chunk=10),
    "chunked-wide-sum": partial(chunked.softmax, chunk=10, accumulate=torch.float64),
    "split": partial(split.softmax, piece=10),
}
WRITERS = [name for name in VARIANTS if name not in ("naive", "huge-pages")]
REFUSERS = [name for name in VARIANTS if name != "eager"]

SHAPES = [(1, 1), (7, 33), (3, 1025), (257, 1), (1, 4097), (613, 79)]

# The reasons stand beside the tolerance of kernels/softmax/experiment.py.
close = partial(torch.testing.assert_close, atol=2e-7, rtol=3e-5)

every_variant = pytest.mark.parametrize("softmax", VARIANTS.values(), ids=VARIANTS)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(20261130)


@pytest.fixture
def fresh_compiler():
    """torch compiles a function for a limited number of shapes; each test starts anew."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiling(test):
    """Marks a test that runs inductor, which uses what torch itself has deprecated."""
    deprecated = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
    return pytest.mark.usefixtures("fresh_compiler")(deprecated(test))


def truth(x):
    return reference.softmax(x.double()).float()


def check(softmax, x, **options):
    """The answer is right, fresh and contiguous, and the input is as it was."""
    before = x.clone()
    out = softmax(x, **options)
    close(out, truth(before))
    assert out.is_contiguous()
    assert out.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    assert torch.equal(x, before)
    return out


def peaks(columns=4097):
    """Rows of +1000, of -1000, and of -1000 with one +1000."""
    x = torch.full((3, columns), -1000.0)
    x[0] = 1000
    x[2, columns // 2] = 1000
    return x


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_reference_agrees_with_torch_in_float64(shape):
    x = torch.randn(shape, dtype=torch.float64)
    torch.testing.assert_close(reference.softmax(x), torch.softmax(x, dim=-1))


@every_variant
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_odd_shapes(softmax, shape):
    out = check(softmax, torch.randn(shape))
    close(out.double().sum(-1), torch.ones(shape[0], dtype=torch.float64), atol=1e-5, rtol=0)


@every_variant
def test_values_whose_exponentials_overflow_or_vanish(softmax):
    check(softmax, peaks())


@every_variant
def test_equal_values_share_the_row(softmax):
    out = check(softmax, torch.full((5, 65), 3.5))
    close(out, torch.full((5, 65), 1 / 65))


@every_variant
def test_a_single_column_is_one(softmax):
    assert torch.equal(softmax(torch.randn(9, 1)), torch.ones(9, 1))


@every_variant
def test_no_rows_give_an_empty_output(softmax):
    assert softmax(torch.empty(0, 3)).shape == (0, 3)


@every_variant
def test_maximum_that_rises_from_chunk_to_chunk(softmax):
    check(softmax, torch.linspace(-80, 80, 101).repeat(4, 1))


@every_variant
def test_maximum_that_falls_from_chunk_to_chunk(softmax):
    check(softmax, torch.linspace(80, -80, 101).repeat(4, 1))


@every_variant
def test_minus_infinity_has_no_share_wherever_it_stands(softmax):
    x = torch.randn(4, 45)
    x[0, :20] = -torch.inf  # the first two chunks
    x[1, 10:20] = -torch.inf  # a chunk in the middle
    x[2, 25:] = -torch.inf  # the rest
    x[3, 1:] = -torch.inf  # all but one
    out = check(softmax, x)
    assert (out[torch.isneginf(x)] == 0).all()


@every_variant
@pytest.mark.parametrize("value", [-torch.inf, torch.inf, torch.nan])
def test_a_row_without_a_softmax_is_nan_and_spoils_no_other(softmax, value):
    x = torch.randn(3, 45)
    x[1] = value
    out = softmax(x)
    assert out[1].isnan().all()
    close(out[::2], truth(x[::2]))


@every_variant
def test_strided_inputs(softmax):
    base = torch.randn(64, 96)
    check(softmax, base.t())
    check(softmax, base[1::3, 5:93:7])
    check(softmax, base[:1].expand(6, 96))
    check(softmax, base[:, :1].expand(64, 37))


@every_variant
def test_outputs_of_two_calls_do_not_share_memory(softmax):
    x = torch.randn(7, 33)
    first = softmax(x)
    kept = first.clone()
    softmax(-x)
    assert torch.equal(first, kept)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_every_element_of_a_given_output_is_written(name, shape):
    x = torch.randn(shape)
    out = torch.full(shape, torch.nan)
    assert VARIANTS[name](x, out=out) is out
    close(out, truth(x))


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "eager"])
@pytest.mark.parametrize(
    "out",
    [torch.empty(33, 7), torch.empty(7, 33).double(), torch.empty(33, 7).t()],
    ids=["shape", "dtype", "strides"],
)
def test_an_output_that_does_not_fit_is_refused(name, out):
    with pytest.raises(ValueError, match="out must be contiguous"):
        VARIANTS[name](torch.randn(7, 33), out=out)


REFUSED = {
    "float16": torch.randn(2, 3).half(),
    "float64": torch.randn(2, 3).double(),
    "integers": torch.ones(2, 3, dtype=torch.int32),
    "vector": torch.randn(3),
    "cube": torch.randn(2, 3, 4),
    "no-columns": torch.empty(2, 0),
    "elsewhere": torch.empty(2, 3, device="meta"),
}


@pytest.mark.parametrize("x", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("name", REFUSERS)
def test_what_the_contract_leaves_out_is_refused(name, x):
    with pytest.raises(ValueError, match=r"float32 matrix with at least one column on the CPU"):
        VARIANTS[name](x)


@pytest.mark.parametrize("name", REFUSERS)
def test_an_input_that_wants_a_gradient_is_refused_while_gradients_are_on(name):
    x = torch.randn(2, 3, requires_grad=True)
    with pytest.raises(ValueError, match="no backward"):
        VARIANTS[name](x)
    with torch.no_grad():
        close(VARIANTS[name](x), truth(x.detach()))


def test_huge_pages_are_the_same_bits_as_the_baseline_and_start_on_a_page():
    x = torch.randn(97, 1031)
    out = huge_pages.softmax(x)
    assert torch.equal(out, eager.softmax(x))
    assert out.data_ptr() % huge_pages.HUGE_PAGE == 0


def test_a_system_without_huge_pages_is_told(monkeypatch):
    monkeypatch.delattr("mmap.MADV_HUGEPAGE")
    with pytest.raises(RuntimeError, match="MADV_HUGEPAGE"):
        huge_pages.softmax(torch.randn(2, 3))


@compiling
def test_compiled_on_odd_strided_and_extreme_inputs():
    for x in (torch.randn(7, 33), torch.randn(37, 64).t(), torch.randn(5, 1), peaks(1025)):
        check(compiled.softmax, x)
    x = torch.randn(3, 45)
    x[0, :20] = -torch.inf
    x[1] = -torch.inf
    out = compiled.softmax(x)
    assert out[1].isnan().all()
    close(out[::2], truth(x[::2]))


@compiling
def test_compiled_compiles_once_a_shape():
    x = torch.randn(11, 17)
    compiled.softmax(x)
    with torch.compiler.set_stance("fail_on_recompile"):
        check(compiled.softmax, torch.randn(11, 17))


def test_compiled_answers_no_rows_without_compiling():
    with torch.compiler.set_stance("fail_on_recompile"):
        assert compiled.softmax(torch.empty(0, 3)).shape == (0, 3)


@pytest.mark.parametrize("x", REFUSED.values(), ids=REFUSED)
def test_compiled_refuses_what_the_others_refuse(x):
    with pytest.raises(ValueError, match=r"float32 matrix with at least one column on the CPU"):
        compiled.softmax(x)
