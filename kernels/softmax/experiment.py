"""Softmax over rows on a CPU: passes over memory, fresh pages, and idle cores."""

from __future__ import annotations

from functools import partial

import torch

from harness.experiment import Case, Experiment, Mistake, Prediction, Tolerance, Variant, Work

from . import (
    blocked,
    chunked,
    compiled,
    eager,
    fused,
    huge_pages,
    inplace,
    naive,
    reference,
    split,
    work,
)

# Each exponential, quotient and partial sum is rounded to about 6e-8 of its value, and sums of
# a million terms were seen 2e-6 off. 3e-5 leaves a decade above that and lies far below what a
# mistake in the formula does. Absolute, 2e-7 is nothing beside a row that sums to one …
FLOAT32 = Tolerance(atol=2e-7, rtol=3e-5)
# … unless its columns are so many that a typical value is no larger: there rtol must decide.
FLOAT32_LONG = Tolerance(atol=2e-12, rtol=3e-5)
LONG = 10**5  # columns

CONVENTION = "an exponential and a quotient count as one operation each, like an addition"


def _work(sweeps: tuple[work.Sweep, ...], case_rows: int, case_columns: int) -> Work:
    implemented = sweeps is not work.COMPULSORY
    return Work(
        flops=work.computed(sweeps, case_rows, case_columns),
        bytes=work.moved(sweeps, case_rows, case_columns),
        flops_method="for each element: " + ", ".join(sweep.what for sweep in sweeps),
        bytes_method=(
            "each array that an operation reads or writes, whether or not it lies in a cache"
            if implemented
            else "the input once, the output once"
        ),
        convention=CONVENTION,
    )


def _as_implemented(sweeps: tuple[work.Sweep, ...], case: Case) -> Work:
    return _work(sweeps, case.shape["rows"], case.shape["columns"])


def _implemented_split(case: Case) -> Work | None:
    """A row of one piece is torch's softmax, which moves no more than it must."""
    pieces = case.shape["columns"] > PIECE
    return _as_implemented(work.SPLIT, case) if pieces else None


def _normal(
    case: Case, generator: torch.Generator, device: torch.device
) -> tuple[torch.Tensor, ...]:
    shape = (case.shape["rows"], case.shape["columns"])
    return (torch.randn(shape, generator=generator, device=device),)


def _transposed(
    case: Case, generator: torch.Generator, device: torch.device
) -> tuple[torch.Tensor, ...]:
    shape = (case.shape["columns"], case.shape["rows"])
    return (torch.randn(shape, generator=generator, device=device).t(),)


def _peaks(
    case: Case, generator: torch.Generator, device: torch.device
) -> tuple[torch.Tensor, ...]:
    """A row of large values, a row of very negative ones, and one that a single value owns."""
    height = float(case.parameters["height"])
    columns = case.shape["columns"]
    x = torch.empty((3, columns), device=device)
    x[0] = height
    x[1:] = -height
    owner = torch.randint(columns, (), generator=generator, device=device)
    x[2, owner] = height
    return (x,)


def _case(
    name: str,
    what: str,
    rows: int,
    columns: int,
    *,
    timed: bool = True,
    tags: tuple[str, ...] = (),
) -> Case:
    return Case(
        id=name,
        what=what,
        shape={"rows": rows, "columns": columns},
        dtype="float32",
        make_inputs=_normal,
        distribution="normal(0, 1)",
        tolerance=FLOAT32_LONG if columns > LONG else FLOAT32,
        work=_work(work.COMPULSORY, rows, columns),
        tags=tags,
        timed=timed,
    )


TALL = _case("tall", "many rows, each of which fits in a first-level cache", 4096, 4096)
MIDDLE = _case("middle", "fewer rows of that length, whose output the allocator keeps", 1024, 4096)
WIDE = _case("wide", "an odd number of very long rows, shared among cores", 5, 1048576)
LONE = _case("lone", "a single very long row", 1, 4194304)
SHORT = _case("short", "a small matrix that stays in a cache", 128, 512)
SMALL = _case("small", "the smallest case, ragged", 7, 33, timed=False, tags=("smallest",))
RAGGED = _case("ragged", "prime rows and odd columns", 1823, 781, timed=False)
PEAKS = Case(
    id="peaks",
    what="rows of large, of very negative and of one large value, whose exponentials overflow "
    "or vanish unless the maximum is subtracted",
    shape={"rows": 3, "columns": 4097},
    dtype="float32",
    make_inputs=_peaks,
    distribution="constant rows, one element moved",
    parameters={"height": 1000},
    tolerance=FLOAT32,
    work=_work(work.COMPULSORY, 3, 4097),
    timed=False,
)
TRANSPOSED = Case(
    id="transposed",
    what="the columns of a matrix as rows, read with a stride",
    shape={"rows": 257, "columns": 256},
    dtype="float32",
    make_inputs=_transposed,
    distribution="normal(0, 1)",
    layout="column-major",
    tolerance=FLOAT32,
    work=_work(work.COMPULSORY, 257, 256),
    timed=False,
)
TIMED = (TALL, MIDDLE, WIDE, LONE, SHORT)
GATED = (SMALL, RAGGED, PEAKS, TRANSPOSED)

BLOCK_BYTES = 4 * 2**20
THIN_BLOCK_BYTES = 256 * 2**10
CHUNK = 32768
NARROW_CHUNK = 2048
PIECE = 262144

ATEN = "ATen, CPU, vectorised, rows over threads"
PLAIN = "float32 throughout, each operation rounded to memory"

VARIANTS = (
    Variant(
        id="eager",
        role="baseline",
        what="torch's own softmax",
        function=eager.softmax,
        expression="torch.softmax(x, dim=-1)",
        backend=ATEN,
        rounding="float32 throughout, fused",
        requires="cpu",
        writes_out=True,
    ),
    Variant(
        id="naive",
        role="step",
        parent="eager",
        what="the definition, a torch operation a line, every intermediate a fresh matrix",
        idea="take the fused kernel apart, to see what each pass over memory costs",
        function=naive.softmax,
        expression="exp(x - amax(x)) / sum(exp(x - amax(x)))",
        backend="ATen, CPU, five kernels",
        rounding=PLAIN,
        lever="none",
        work=partial(_as_implemented, work.SEPARATE),
        requires="cpu",
    ),
    Variant(
        id="inplace",
        role="step",
        parent="naive",
        what="the same operations with intermediates in the memory of the output",
        idea="the same passes with a single fresh matrix: what remains is traffic",
        function=inplace.softmax,
        expression="sub(x, amax(x), out=y); y.exp_(); y.div_(sum(y))",
        backend="ATen, CPU, five kernels",
        rounding=PLAIN,
        lever="memory access",
        work=partial(_as_implemented, work.SEPARATE),
        requires="cpu",
        writes_out=True,
    ),
    Variant(
        id="blocked",
        role="step",
        parent="inplace",
        what="the operations in place, a block of rows at a time",
        idea="a block that stays in the last-level cache meets memory only once",
        function=blocked.softmax,
        expression="blocked.softmax(x)",
        backend="ATen, CPU, five kernels a block",
        rounding=PLAIN,
        lever="memory access",
        config={"block_bytes": BLOCK_BYTES},
        requires="cpu",
        writes_out=True,
    ),
    Variant(
        id="compiled",
        role="step",
        parent="naive",
        what="the definition through torch.compile, a kernel a shape",
        idea="let a compiler fuse the passes, and share a lone row among threads",
        function=compiled.softmax,
        expression="torch.compile(naive, dynamic=False)(x)",
        backend="inductor, C++ with OpenMP",
        rounding="float32 throughout, fused",
        lever="memory access",
        requires="cpu",
        # torch compiles a function for a limited number of shapes, which these stay within.
        gate_cases=tuple(case.id for case in (*TIMED, SMALL, PEAKS, TRANSPOSED)),
    ),
    Variant(
        id="huge-pages",
        role="step",
        parent="eager",
        what="torch's softmax into an output whose memory comes in huge pages",
        idea="fewer stops of the kernel to clear and map the pages of a fresh output",
        function=huge_pages.softmax,
        expression="torch.softmax(x, dim=-1, out=mapped)",
        backend=ATEN,
        rounding="that of the baseline, bit for bit",
        lever="memory access",
        requires="cpu",
    ),
    Variant(
        id="chunked",
        role="step",
        parent="inplace",
        what="online softmax: a running maximum and sum over chunks of columns, in two sweeps",
        idea="keep only a maximum and a sum a row, so that a row need not fit anywhere",
        function=chunked.softmax,
        expression="chunked.softmax(x)",
        backend="ATen, CPU, a dozen kernels a chunk",
        rounding=PLAIN,
        lever="memory access",
        config={"chunk": CHUNK, "accumulate": "float32"},
        work=partial(_as_implemented, work.CHUNKED),
        requires="cpu",
        writes_out=True,
    ),
    Variant(
        id="split",
        role="step",
        parent="chunked",
        what="pieces of a row through torch's softmax at once, merged by their maxima and sums",
        idea="pieces of a row are rows to torch, so that a lone row keeps every core busy",
        function=split.softmax,
        expression="split.softmax(x)",
        backend="ATen, CPU, pieces over threads",
        rounding="that of the baseline within a piece, and one product more for the merge",
        lever="balance",
        config={"piece": PIECE},
        work=_implemented_split,
        requires="cpu",
        writes_out=True,
    ),
    Variant(
        id="fused",
        role="step",
        parent="eager",
        what="a Triton kernel: a row a program, the row in registers",
        idea="a read and a write of memory an element on a GPU, for any strides",
        function=fused.softmax,
        expression="fused.softmax(x)",
        backend="Triton",
        rounding="float32 throughout, cast on the store",
        lever="memory access",
        config={"num_warps": 4},
        requires="cuda",
        interpreted=True,
        # A row must fit in registers.
        cases=tuple(case.id for case in (TALL, MIDDLE, SHORT, *GATED)),
        gate_cases=tuple(case.id for case in (SHORT, SMALL, PEAKS, TRANSPOSED)),
    ),
    Variant(
        id="blocked-thin",
        role="attempt",
        parent="blocked",
        what="blocks so small that they stay in a core's own cache",
        idea="a nearer cache is quicker than the last-level one",
        function=partial(blocked.softmax, block_bytes=THIN_BLOCK_BYTES),
        expression="blocked.softmax(x, block_bytes=…)",
        file="blocked.py",
        symbol="softmax",
        backend="ATen, CPU, five kernels a block",
        rounding=PLAIN,
        lever="memory access",
        config={"block_bytes": THIN_BLOCK_BYTES},
        requires="cpu",
        writes_out=True,
        cases=tuple(case.id for case in (TALL, MIDDLE, *GATED)),
    ),
    Variant(
        id="chunked-narrow",
        role="attempt",
        parent="chunked",
        what="chunks so narrow that a chunk stays in a core's own cache",
        idea="the second operation on a chunk finds it in a near cache",
        function=partial(chunked.softmax, chunk=NARROW_CHUNK),
        expression="chunked.softmax(x, chunk=…)",
        file="chunked.py",
        symbol="softmax",
        backend="ATen, CPU, a dozen kernels a chunk",
        rounding=PLAIN,
        lever="memory access",
        config={"chunk": NARROW_CHUNK, "accumulate": "float32"},
        work=partial(_as_implemented, work.CHUNKED),
        requires="cpu",
        writes_out=True,
        cases=tuple(case.id for case in (WIDE, *GATED)),
    ),
    Variant(
        id="chunked-wide-sum",
        role="attempt",
        parent="chunked",
        what="the running sum in float64",
        idea="a longer sum loses fewer digits, and its cost may hide behind memory",
        function=partial(chunked.softmax, accumulate=torch.float64),
        expression="chunked.softmax(x, accumulate=torch.float64)",
        file="chunked.py",
        symbol="softmax",
        backend="ATen, CPU, a dozen kernels a chunk",
        rounding="float32 with the sum in float64",
        lever="none",
        config={"chunk": CHUNK, "accumulate": "float64"},
        work=partial(_as_implemented, work.CHUNKED),
        requires="cpu",
        writes_out=True,
        cases=tuple(case.id for case in (WIDE, LONE, *GATED)),
    ),
)

MISTAKES = (
    Mistake(
        id="forgotten-rescale",
        variant="chunked",
        before="total.mul_(torch.exp(peak - base))",
        after="total.mul_(1)",
        passes="small",
        fails="lone",
    ),
    Mistake(
        id="maximum-from-zero",
        variant="chunked",
        before="peak = torch.full((x.shape[0], 1), -torch.inf)",
        after="peak = torch.zeros((x.shape[0], 1))",
        passes="small",
        fails="peaks",
    ),
    Mistake(
        id="lost-last-block",
        variant="blocked",
        before="range(0, rows, step)",
        after="range(0, max(rows - step, 0) + 1, step)",
        passes="small",
        fails="ragged",
    ),
    Mistake(
        id="swapped-stride",
        variant="fused",
        before="+ column * stride_column",
        after="+ column",
        passes="small",
        fails="transposed",
    ),
)

experiment = Experiment(
    title="Softmax over rows",
    audience="engineers who write softmax, or any other pass over rows, for a CPU",
    question="What bounds softmax over rows on this CPU, and does any arrangement of torch "
    "operations do better than torch's own kernel?",
    hypothesis="Once the passes are fused, softmax of a large matrix is bound neither by "
    "arithmetic nor by traffic but by the fresh pages of its output: an output in huge pages "
    "helps more than any change of the arithmetic, and where the allocator has warm memory to "
    "give it only costs. A lone row leaves cores idle; splitting it over columns pays there "
    "although it reads more. Separate passes cost what they move.",
    predicted=(
        Prediction(variant="huge-pages", over="eager", ratio=2.0, case="tall", mode="host"),
        # Eight arrays moved by separate operations, two by a fused loop (work.py).
        Prediction(variant="compiled", over="naive", ratio=4.0, case="tall", mode="host"),
        # Two cores instead of one, less the second visit that the merge pays to the output.
        Prediction(variant="split", over="eager", ratio=1.6, case="lone", mode="host"),
        # Five rows on two cores: three against two and a half, too little for the merge.
        Prediction(variant="split", over="eager", ratio=0.8, case="wide", mode="host"),
    ),
    variable="how the same definition is arranged into operations, memory and threads",
    varies=("backend", "rounding"),
    cannot_conclude="Nothing about other allocators, systems that give huge pages unasked, "
    "more cores, narrower dtypes or a GPU. Freeing an output is outside the timed call. The "
    "order of allocations decides which memory is warm, and a program with other habits than "
    "this harness meets other costs.",
    next="The same outputs from an allocator that keeps large blocks, which would take from "
    "huge pages what they win here.",
    contract="A float32 matrix of any strides with at least one column; the output is fresh, "
    "contiguous and no alias of the input, which stays as it is. No rows give an empty output. "
    "A row that is minus infinity throughout, or holds plus infinity, gives NaN.",
    oracle=reference.softmax,
    oracle_name="the definition written out in float64, cast to the dtype",
    independent_check="tests compare the oracle with torch.softmax in float64 and row sums "
    "with one",
    limiter="For large matrices the fresh pages of the output: a copy into memory that is "
    "already mapped, which is how the memory ceiling is measured, shows how much they cost. "
    "For a lone row the one core that works on it. For small matrices the calls themselves.",
    cases=(*TIMED, *GATED),
    variants=VARIANTS,
    mistakes=MISTAKES,
)
