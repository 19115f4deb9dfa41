"""Softmax over rows in Triton on one GPU: how near a memory-bound kernel comes to a copy."""

from __future__ import annotations

from functools import partial

import torch

from harness.experiment import Case, Experiment, Mistake, Prediction, Tolerance, Variant, Work

from . import by_width, compiled, eager, fused, naive, online, persistent, reference, split, work

# Each exponential, quotient and partial sum is rounded to about 6e-8 of its value, and the
# device's exponential is good to a few of those. 3e-5 leaves a decade above what was seen and
# lies far below what a mistake in the formula does. 2e-7 is nothing beside a row of few columns …
FLOAT32 = Tolerance(atol=2e-7, rtol=3e-5)
# … unless its columns are so many that a typical value is no larger: there rtol must decide.
FLOAT32_LONG = Tolerance(atol=2e-12, rtol=3e-5)
# bfloat16 keeps eight bits: neighbours are up to 8e-3 apart, so 0.01 admits the neighbour of
# the right value and no other. 2e-5 is a tenth of a typical value of 4096 columns.
BFLOAT16 = Tolerance(atol=2e-5, rtol=0.01)
BFLOAT16_LONG = Tolerance(atol=2e-12, rtol=0.01)
LONG = 10**4  # columns

CONVENTION = "an exponential and a quotient count as one operation each, like an addition"
HEIGHT = 20


def _work(sweeps: tuple[work.Sweep, ...], rows: int, columns: int, dtype: str) -> Work:
    implemented = sweeps is not work.COMPULSORY
    return Work(
        flops=work.computed(sweeps, elements=rows * columns),
        bytes=work.moved(sweeps, elements=rows * columns, dtype=dtype),
        flops_method="for each element: " + ", ".join(sweep.what for sweep in sweeps),
        bytes_method=(
            "each sweep over the matrix, whether or not it finds it in a cache"
            if implemented
            else "the input once, the output once"
        ),
        convention=CONVENTION,
    )


def _as_implemented(sweeps: tuple[work.Sweep, ...], case: Case) -> Work:
    return _work(sweeps, case.shape["rows"], case.shape["columns"], case.dtype)


def _implemented_by_width(case: Case) -> Work | None:
    """Only the middle width of the wider dtype reads its rows again."""
    swept = by_width.NARROW < case.shape["columns"] <= by_width.MIDDLE
    return _as_implemented(work.ONLINE, case) if swept and case.dtype == "float32" else None


def _normal(
    case: Case, generator: torch.Generator, device: torch.device
) -> tuple[torch.Tensor, ...]:
    shape = (case.shape["rows"], case.shape["columns"])
    x = torch.randn(shape, generator=generator, device=device)
    return (x.to(getattr(torch, case.dtype)),)


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


def _rising(
    case: Case, generator: torch.Generator, device: torch.device
) -> tuple[torch.Tensor, ...]:
    """Normal values on a ramp, so that every later stretch of a row has a larger maximum."""
    (x,) = _normal(case, generator, device)
    height = float(case.parameters["height"])
    return (x + torch.linspace(-height, height, x.shape[1], device=device),)


FILLS = ("fills",)  # the device


def _tolerance(columns: int, dtype: str) -> Tolerance:
    if dtype == "float32":
        return FLOAT32_LONG if columns > LONG else FLOAT32
    return BFLOAT16_LONG if columns > LONG else BFLOAT16


def _case(
    name: str,
    what: str,
    rows: int,
    columns: int,
    *,
    dtype: str = "float32",
    timed: bool = True,
    tags: tuple[str, ...] = (),
    modes: tuple[str, ...] | None = None,
) -> Case:
    return Case(
        id=name,
        what=what,
        shape={"rows": rows, "columns": columns},
        dtype=dtype,
        make_inputs=_normal,
        distribution="normal(0, 1)",
        tolerance=_tolerance(columns, dtype),
        work=_work(work.COMPULSORY, rows, columns, dtype),
        tags=tags,
        timed=timed,
        modes=modes,
    )


def _both(
    name: str,
    what: str,
    rows: int,
    columns: int,
    *,
    tags: tuple[str, ...] = FILLS,
    wide: tuple[str, ...],
    narrow: tuple[str, ...],
) -> list[Case]:
    """A shape in float32 and in bfloat16, each with the modes it is timed in."""
    return [
        _case(name, what, rows, columns, tags=tags, modes=wide),
        _case(f"{name}-bf16", what, rows, columns, dtype="bfloat16", tags=tags, modes=narrow),
    ]


# Modes where they say something: a graph and the host's clock for what a launch costs, regimes
# of power for the widths that differ in how hard they work.
PLAIN = ("do_bench",)
BURST = (*PLAIN, "do_bench-burst")
REGIMES = (*BURST, "do_bench-sustained")
LAUNCHED = ("do_bench", "graph")
W4096 = _both(
    "w4096",
    "rows that a small program holds in registers",
    4096,
    4096,
    wide=(*REGIMES, "graph", "host"),
    narrow=PLAIN,
)
W16384 = _both(
    "w16384", "rows that a large program holds in registers", 4096, 16384, wide=PLAIN, narrow=PLAIN
)
W32768 = _both(
    "w32768", "rows that the largest program just holds", 4096, 32768, wide=BURST, narrow=PLAIN
)
W131072 = _both("w131072", "rows that no program holds", 1024, 131072, wide=REGIMES, narrow=PLAIN)
SHORT = _both(
    "short",
    "a matrix so small that launching is the work",
    128,
    512,
    tags=(),
    wide=(*LAUNCHED, "host"),
    narrow=LAUNCHED,
)
SMALL = _case("small", "the smallest case, ragged", 7, 33, timed=False, tags=("smallest",))
RAGGED = _case("ragged", "prime rows and odd columns", 1823, 781, timed=False)
COLUMN = _case("column", "rows of a single element", 1823, 1, timed=False)
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
    work=_work(work.COMPULSORY, 3, 4097, "float32"),
    timed=False,
)
UNEVEN = Case(
    id="uneven",
    what="long rows of no round width, whose maximum moves from one stretch to the next",
    shape={"rows": 3, "columns": 40009},
    dtype="float32",
    make_inputs=_rising,
    distribution="normal(0, 1) on a rising ramp",
    parameters={"height": HEIGHT},
    tolerance=FLOAT32_LONG,
    work=_work(work.COMPULSORY, 3, 40009, "float32"),
    timed=False,
)
TIMED = (*W4096, *W16384, *W32768, *W131072, *SHORT)
GATED = (SMALL, RAGGED, COLUMN, PEAKS, UNEVEN)
HELD = (*W4096, *W16384, *W32768, *SHORT, SMALL, RAGGED, COLUMN, PEAKS)


def _ids(*cases: Case) -> tuple[str, ...]:
    return tuple(case.id for case in cases)


TRITON = "Triton"
ROUNDING = "float32 throughout, cast on the store"
# What the interpreter is asked for: quick cases, and none in bfloat16, which it gets wrong.
INTERPRETED = _ids(SMALL, COLUMN, PEAKS, UNEVEN)
INTERPRETED_HELD = _ids(SMALL, RAGGED, COLUMN, PEAKS)

WARPS = 16
FEW_WARPS = 4
PERSISTENT = {"residents": 4, "stages": 1, "num_warps": WARPS}
ONLINE = {"chunk": 16384, "num_warps": WARPS, "keep": "evict_last"}
SPLIT = {"part": 8192, "registers": 80, "num_warps": 4}
COMPILED = {"mode": compiled.DEFAULT, **compiled.SETTINGS}

VARIANTS = (
    Variant(
        id="eager",
        role="baseline",
        what="torch's own softmax",
        function=eager.softmax,
        expression="torch.softmax(x, dim=-1)",
        backend="ATen, CUDA",
        rounding=ROUNDING,
        requires="cuda",
        writes_out=True,
    ),
    Variant(
        id="compiled",
        role="step",
        parent="eager",
        what="torch's softmax through torch.compile, a kernel a shape",
        idea="what a reader gets without writing a kernel",
        function=compiled.softmax,
        expression="torch.compile(torch.softmax, dynamic=False, fullgraph=True)(x, dim=-1)",
        backend="inductor, Triton",
        rounding=ROUNDING,
        lever="memory access",
        config=COMPILED,
        requires="cuda",
        writes_out=True,
    ),
    Variant(
        id="naive",
        role="step",
        parent="eager",
        what="a launch for the maximum, one for the sum and one for the quotient",
        idea="the definition, a sweep over the matrix for each of its parts",
        function=naive.softmax,
        expression="naive.softmax(x)",
        backend=TRITON,
        rounding=ROUNDING,
        lever="none",
        config={"chunk": 4096, "num_warps": 8},
        work=partial(_as_implemented, work.SEPARATE),
        requires="cuda",
        interpreted=True,
        writes_out=True,
        gate_cases=INTERPRETED,
    ),
    Variant(
        id="fused",
        role="step",
        parent="naive",
        what="one launch, a program a row, the row in registers",
        idea="read each element once and write it once",
        function=fused.softmax,
        expression="fused.softmax(x)",
        backend=TRITON,
        rounding=ROUNDING,
        lever="memory access",
        config={"num_warps": WARPS},
        requires="cuda",
        interpreted=True,
        writes_out=True,
        cases=_ids(*HELD),
        gate_cases=INTERPRETED_HELD,
    ),
    Variant(
        id="persistent",
        role="step",
        parent="fused",
        what="a few programs a multiprocessor, each taking row after row",
        idea="launch programs once instead of once a row",
        function=persistent.softmax,
        expression="persistent.softmax(x)",
        backend=TRITON,
        rounding=ROUNDING,
        lever="balance",
        config=PERSISTENT,
        requires="cuda",
        interpreted=True,
        writes_out=True,
        cases=_ids(*HELD),
        gate_cases=INTERPRETED_HELD,
    ),
    Variant(
        id="online",
        role="step",
        parent="fused",
        what="an online maximum and sum over chunks, then a second sweep that reads the row from "
        "the second-level cache",
        idea="a row need not fit in registers to be read from memory once, only in the cache",
        function=online.softmax,
        expression="online.softmax(x)",
        backend=TRITON,
        rounding=ROUNDING,
        lever="memory access",
        config=ONLINE,
        work=partial(_as_implemented, work.ONLINE),
        requires="cuda",
        interpreted=True,
        writes_out=True,
        gate_cases=INTERPRETED,
    ),
    Variant(
        id="split",
        role="step",
        parent="online",
        what="a row shared by several programs that tell each other maximum and sum, in one launch",
        idea="a row that fits in no program fits in several, and is read once again",
        function=split.softmax,
        expression="split.softmax(x)",
        backend=TRITON,
        rounding="float32 throughout, one product more for the rescaling, cast on the store",
        lever="memory access",
        config=SPLIT,
        requires="cuda",
        interpreted=True,
        writes_out=True,
        gate_cases=INTERPRETED,
    ),
    Variant(
        id="by-width",
        role="step",
        parent="split",
        what="fused for narrow rows, online for middle widths of the wider dtype, split for others",
        idea="no arrangement serves every width, and the width is known before the launch",
        function=by_width.softmax,
        expression="by_width.softmax(x)",
        backend=TRITON,
        rounding="that of the arrangement it picks",
        lever="balance",
        config={
            "narrow": by_width.NARROW,
            "middle": by_width.MIDDLE,
            "wide": by_width.WIDE,
            **{f"large_{name}": setting for name, setting in by_width.LARGE.items()},
        },
        work=_implemented_by_width,
        requires="cuda",
        interpreted=True,
        writes_out=True,
        gate_cases=INTERPRETED,
    ),
    Variant(
        id="compiled-tuned",
        role="attempt",
        parent="compiled",
        what="the compiler told to try more configurations of its kernel",
        idea="a baseline is to be tuned before it is beaten",
        function=partial(compiled.softmax, mode=compiled.TUNED),
        file="compiled.py",
        symbol="softmax",
        expression="torch.compile(torch.softmax, mode=max-autotune-no-cudagraphs, dynamic=False, "
        "fullgraph=True)(x, dim=-1)",
        backend="inductor, Triton",
        rounding=ROUNDING,
        lever="none",
        config={**COMPILED, "mode": compiled.TUNED},
        requires="cuda",
        writes_out=True,
        # Each case is tuned again in every block.
        cases=_ids(W4096[0], *GATED),
    ),
    Variant(
        id="fused-few-warps",
        role="attempt",
        parent="fused",
        what="the longest row held by few warps",
        idea="fewer warps meet more cheaply, if their registers hold the row",
        function=partial(fused.softmax, num_warps=FEW_WARPS),
        expression="fused.softmax(x, num_warps=…)",
        file="fused.py",
        symbol="softmax",
        backend=TRITON,
        rounding=ROUNDING,
        lever="none",
        config={"num_warps": FEW_WARPS},
        requires="cuda",
        interpreted=True,
        writes_out=True,
        cases=_ids(*W32768, SMALL, PEAKS),
        gate_cases=_ids(SMALL, PEAKS),
    ),
    Variant(
        id="persistent-pipelined",
        role="attempt",
        parent="persistent",
        what="the next row on its way through shared memory while this one is computed",
        idea="a program that never waits for memory",
        function=partial(persistent.softmax, stages=2),
        expression="persistent.softmax(x, stages=…)",
        file="persistent.py",
        symbol="softmax",
        backend=TRITON,
        rounding=ROUNDING,
        lever="memory access",
        config={**PERSISTENT, "stages": 2},
        requires="cuda",
        interpreted=True,
        writes_out=True,
        cases=_ids(*HELD),
        gate_cases=_ids(SMALL, PEAKS),
    ),
    Variant(
        id="persistent-deep",
        role="attempt",
        parent="persistent",
        what="one row more on its way",
        idea="if one row ahead helps, more may help more",
        function=partial(persistent.softmax, stages=3),
        expression="persistent.softmax(x, stages=…)",
        file="persistent.py",
        symbol="softmax",
        backend=TRITON,
        rounding=ROUNDING,
        lever="memory access",
        config={**PERSISTENT, "stages": 3},
        requires="cuda",
        interpreted=True,
        writes_out=True,
        cases=_ids(*W32768, SMALL, PEAKS),
        gate_cases=_ids(SMALL, PEAKS),
    ),
    Variant(
        id="online-evict-first",
        role="attempt",
        parent="online",
        what="the first sweep lets the cache drop what it read",
        idea="what is streamed through should not push out what others keep",
        function=partial(online.softmax, keep="evict_first"),
        expression="online.softmax(x, keep=…)",
        file="online.py",
        symbol="softmax",
        backend=TRITON,
        rounding=ROUNDING,
        lever="memory access",
        config={**ONLINE, "keep": "evict_first"},
        work=partial(_as_implemented, work.ONLINE),
        requires="cuda",
        interpreted=True,
        writes_out=True,
        gate_cases=_ids(SMALL, UNEVEN),
    ),
    Variant(
        id="split-capped",
        role="attempt",
        parent="split",
        what="fewer registers a thread, so that more programs fit at once",
        idea="more programs have more loads on their way",
        function=partial(split.softmax, registers=64),
        expression="split.softmax(x, registers=…)",
        file="split.py",
        symbol="softmax",
        backend=TRITON,
        rounding="float32 throughout, one product more for the rescaling, cast on the store",
        lever="balance",
        config={**SPLIT, "registers": 64},
        requires="cuda",
        interpreted=True,
        writes_out=True,
        cases=_ids(*W32768, *W131072, SMALL, UNEVEN),
        gate_cases=_ids(SMALL, UNEVEN),
    ),
)

MISTAKES = (
    Mistake(
        id="unshifted",
        variant="fused",
        before="tl.exp(logits - tl.max(logits, axis=0))",
        after="tl.exp(logits)",
        passes="small",
        fails="peaks",
    ),
    Mistake(
        id="forgotten-rescale",
        variant="online",
        before="total = total * tl.exp(peak - base) +",
        after="total = total +",
        passes="small",
        fails="uneven",
    ),
    Mistake(
        id="own-maximum",
        variant="split",
        before="exponentials * (tl.exp(peak - top) / whole)",
        after="exponentials * (1.0 / whole)",
        passes="small",
        fails="uneven",
    ),
    Mistake(
        id="last-chunk-decides",
        variant="naive",
        before="peak = tl.maximum(peak, logits.to(tl.float32))",
        after="peak = logits.to(tl.float32)",
        passes="small",
        fails="peaks",
    ),
    Mistake(
        id="lost-rows",
        variant="persistent",
        before="rows, tl.num_programs(0)",
        after="tl.minimum(rows, tl.num_programs(0)), tl.num_programs(0)",
        passes="small",
        fails="ragged",
    ),
)

experiment = Experiment(
    title="Softmax over rows, in Triton",
    audience="engineers who write memory-bound kernels for a GPU, and those who decide whether "
    "the compiler's kernel will do",
    question="How near does softmax over rows come to a copy of the same bytes, and what has to "
    "change as rows outgrow a program's registers?",
    hypothesis="Softmax moves what a copy moves, so one read and one write an element are all "
    "that counts: a row held in registers runs at the pace of the copy until registers run out. "
    "A row read again costs a sweep, unless it is still in the second-level cache. The longest "
    "rows in flight overflow that cache too; shared by programs that exchange a maximum and a "
    "sum, they are read once again, and what remains is the wait for each other. Launching "
    "programs once and keeping loads under way buys nothing that the hardware's own scheduling "
    "of many programs does not. Small matrices measure the launch.",
    predicted=(
        # Four sweeps over the matrix by count, and two (work.py).
        Prediction(variant="fused", over="naive", ratio=2.0, case="w4096", mode="do_bench"),
        Prediction(variant="by-width", over="eager", ratio=1.6, case="w4096", mode="do_bench"),
        # Fewer idle programs at the end against rows that no longer balance themselves.
        Prediction(variant="persistent", over="fused", ratio=0.95, case="w4096", mode="do_bench"),
        # Freed registers let more programs run; the second read stays in the cache.
        Prediction(variant="online", over="fused", ratio=1.02, case="w16384", mode="do_bench"),
        # Three sweeps by count, and two.
        Prediction(variant="split", over="online", ratio=1.5, case="w131072", mode="do_bench"),
        Prediction(variant="by-width", over="compiled", ratio=1.4, case="w32768", mode="do_bench"),
        # Triton's launch from Python against torch's from C++.
        Prediction(variant="fused", over="eager", ratio=0.5, case="short", mode="host"),
    ),
    variable="how a row is laid over programs, registers and caches",
    varies=("backend", "rounding"),
    cannot_conclude="Nothing about other devices, whose registers, caches and memory stand in "
    "another proportion; about strided inputs, which the contract refuses; about a softmax fused "
    "with what comes before or after it, which is where most of them belong. The long narrow-dtype "
    "rows are told as they come and were not tuned for.",
    next="Packed exponentials for the narrower dtype, which would leave registers for more "
    "programs at once.",
    contract="A contiguous float32, float16 or bfloat16 matrix on a CUDA device with at least one "
    "column and no more than the widest case has; the output is contiguous and no alias of the "
    "input, which stays as it is. No rows give an empty output without a launch. A row that is "
    "minus infinity throughout, or holds plus infinity, gives NaN.",
    oracle=reference.softmax,
    oracle_name="the definition written out in float64, cast to the dtype",
    independent_check="tests compare the oracle with torch.softmax in float64 and row sums "
    "with one",
    limiter="For matrices that fill the device, memory: the copy of the same bytes shows the pace "
    "that memory allows. For the longest rows also the wait of a row's programs for each other, "
    "shown by the distance to the copy at the width where a program holds its row. For small "
    "matrices the launch.",
    modes=("do_bench", "graph", "host", "do_bench-burst", "do_bench-sustained"),
    headline=("by-width",),
    cases=(*TIMED, *GATED),
    variants=VARIANTS,
    mistakes=MISTAKES,
)
