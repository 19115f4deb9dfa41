"""A GPU as the device that is measured on.

What a call is timed between is do_bench's: the second-level cache cleared by the driver's own
means, an event, the call, an event. Ahead of that the device spins for a moment, so that the
host has queued everything by the time it is reached and no gap of the host's is timed. And
since others took turns before, what they asked the cache to keep is forgotten first.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import triton
import triton.testing

from harness import ceilings
from harness.ceilings import Ceiling, Probe
from harness.device import FLOOR, Seating, Seats, Solo
from harness.driver import Driver
from harness.experiment import Case
from harness.faults import guarded
from harness.ledger import NOBODY, Ledger
from harness.modes import INTERLEAVED, Mode
from harness.nvml import Gauge, observed, spoiled
from harness.outputs import Pool
from harness.sample import Participant, charged
from harness.timer import CheckedTimer, EventTimer, HostTimer, PerCall, SerialTimer
from harness.validate import COPY

PLACE = torch.device("cuda")
# Where the device does not say how large its second-level cache is: more than any has.
UNKNOWN_L2 = 128 * 2**20
# What the device spins for before a call is timed, at least and at most: a multiple of what
# Python needs to launch it.
_LEAD_MS = 0.1
_LONGEST_LEAD_MS = 5.0
_LEAD_FACTOR = 3
_DISPATCHES = 3
# Buffers that a participant writes to in turn, so that the luck of one place is not its own;
# and the share of the free memory that they may take together.
_BUFFERS = 4
_POOL_SHARE = 1 / 3
# A graph's node copies more than this by other means than a kernel's, at two thirds the rate.
_PIECE_BYTES = 2**28
# A graph holds calls that move at least so many bytes together, so that the start of a replay
# is small beside them; and at most so many calls.
_GRAPH_BYTES = 2**29
_GRAPH_CALLS = 256
_MOST_SETS = 1024
_NULL_CALLS = 256
# Waking up: windows of work until two agree in pace and the clock stands still.
_WINDOW = 0.05
_AGREEMENT = 0.01
_PATIENCE = 1.5
# Alone, by do_bench: about as many calls as a block takes turns, after its own warm-up.
_SOLO_CALLS = 64
_SOLO_WARM_UP_MS = 25


@dataclass(frozen=True, slots=True)
class Cuda:
    """The current GPU. l2 is the size of its second-level cache in bytes, None if unknown."""

    l2: int | None
    timer: CheckedTimer
    serial: SerialTimer
    host: HostTimer
    cache: torch.Tensor
    gauge: Gauge | None
    driver: Driver
    cycles_a_ms: int
    place: torch.device = PLACE

    @classmethod
    def open(cls, l2: int | None) -> Cuda:
        """The GPU that torch calls the current one, its clocks and its instruments."""
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        gauge = Gauge.open(str(getattr(properties, "uuid", "")))
        cycles = _cycles_a_ms()
        events = EventTimer(
            make=_event,
            spin=lambda milliseconds: _spin(round(milliseconds * cycles)),
            null=_null,
            version=str(torch.__version__),
        )
        return cls(
            l2=l2,
            timer=events,
            serial=events,
            host=HostTimer(drain=torch.cuda.synchronize),
            cache=triton.runtime.driver.active.get_empty_cache_for_benchmark(),
            gauge=gauge,
            driver=Driver.open(),
            cycles_a_ms=cycles,
        )

    def clear(self) -> None:
        """Clear the second-level cache as Triton's do_bench does: 256 MiB of zeros."""
        triton.runtime.driver.active.clear_cache(self.cache)

    def forget(self) -> None:
        """Let nothing that the last call asked to keep outlive the next clearing."""
        self.driver.forget_persisting()

    def lead(self) -> None:
        """Keep the device busy while the host queues what comes next."""
        _spin(round(_LEAD_MS * self.cycles_a_ms))

    def probe_flush(self) -> None:
        self.lead()
        self._flush()

    def _flush(self) -> None:
        self.forget()
        self.clear()

    def state(self) -> dict[str, Any]:
        return observed(self.gauge)

    def spoiled(self, states: Sequence[Mapping[str, Any]]) -> str | None:
        return spoiled(states)

    def wake(self) -> None:
        begin = time.monotonic()
        pace, clock = 0.0, None
        while time.monotonic() - begin < _PATIENCE:
            before, clock_before = pace, clock
            pace = self._window()
            clock = self.gauge.clock() if self.gauge else None
            if abs(pace - before) <= _AGREEMENT * before and clock == clock_before:
                return

    def _window(self) -> float:
        """Seconds that clearing the cache takes on average over a window."""
        begin = time.monotonic()
        calls = 0
        while (spent := time.monotonic() - begin) < _WINDOW:
            for _ in range(16):
                self.clear()
            torch.cuda.synchronize()
            calls += 16
        return spent / calls

    def null(self, mode: Mode) -> Seating:
        empty = Participant(FLOOR, _null, FLOOR, NOBODY, ahead=self.lead)
        alone = Seating(
            participants=(empty,), inputs=(), timer=self.timer, flush=self.flush_of(mode)
        )
        if mode.id in ("host", "host_hot"):
            return replace(alone, participants=(replace(empty, ahead=None),), timer=self.host)
        if mode.id in ("graph", "graph_hot"):
            graph = captured([_null] * _NULL_CALLS)
            return replace(
                alone,
                participants=(replace(empty, function=graph, ahead=None),),
                timer=PerCall(self.timer, _NULL_CALLS),
                launches=_NULL_CALLS,
            )
        return alone

    def flush_of(self, mode: Mode) -> Callable[[], None]:
        """What comes before each turn in a mode, outside of what is timed.

        Graphs clear no cache: they rotate among buffers.
        """
        flushes = {
            "do_bench": self._flush,
            "graph": self._lead_graph,
            "graph_hot": self._lead_graph,
            "host": self._flush,
            "host_hot": self.forget,
        }
        return flushes[mode.id]

    def _lead_graph(self) -> None:
        self.forget()
        self.lead()

    def ceilings(self, regime: str) -> tuple[Ceiling, ...]:
        return ceilings.cuda_ceilings(regime)

    def calibration(self) -> Sequence[tuple[str, Probe, int]]:
        return ceilings.cuda_calibration()

    def seats(
        self,
        participants: Sequence[Participant],
        inputs: Sequence[torch.Tensor],
        case: Case,
        seed: str,
        ledger: Ledger,
    ) -> Seats:
        base = participants[0]
        with charged(ledger, base):
            like = guarded(_drained(base.function), inputs)
        copy = _copy(inputs, like, case)
        return CudaSeats(self, (*participants, copy), inputs, like, seed, ledger)

    def solo(self, participant: Participant, seating: Seating, ledger: Ledger) -> Solo | None:
        """Triton's own do_bench around the participant."""

        def call() -> None:
            participant.function(*seating.inputs)

        self.forget()
        with charged(ledger, participant):
            pace = guarded(self._pace, (call,))
            rep = math.ceil(_SOLO_CALLS * pace * 1e3)
            readings = guarded(
                triton.testing.do_bench,
                (call,),
                warmup=_SOLO_WARM_UP_MS,
                rep=rep,
                return_mode="all",
            )
        return Solo("triton.testing.do_bench", triton.__version__, "ms", readings)

    def _pace(self, call: Callable[[], None]) -> float:
        """Seconds that a call and the clearing before it take."""
        call()
        torch.cuda.synchronize()
        begin = time.monotonic()
        for _ in range(5):
            self.clear()
            call()
        torch.cuda.synchronize()
        return (time.monotonic() - begin) / 5


@dataclass(slots=True)
class CudaSeats:
    """The participants of a case, all of whose outputs come from one pool.

    like is an output of the case. The pool is made for the first mode that writes to it, and
    again for a mode that needs more buffers.
    """

    device: Cuda
    participants: Sequence[Participant]
    inputs: Sequence[torch.Tensor]
    like: torch.Tensor
    seed: str
    ledger: Ledger
    _pool: Pool | None = field(default=None)

    def seat(self, mode: Mode, names: Sequence[str]) -> Seating:
        takers = [one for one in self.participants if one.id in names]
        plain = Seating(
            participants=takers,
            inputs=self.inputs,
            timer=self.device.timer,
            flush=self.device.flush_of(mode),
        )
        if mode.id in ("host", "host_hot"):
            return replace(plain, timer=self.device.host)
        if mode.id in ("graph", "graph_hot"):
            return self._graphs(plain, mode)
        bound = [self._rotated(one) for one in takers]
        if mode.regime == INTERLEAVED:
            bound = [replace(one, ahead=self._lead_of(one)) for one in bound]
        return replace(plain, participants=bound, places=self._places(takers))

    def _rotated(self, participant: Participant) -> Participant:
        """The participant, writing to each of its buffers in turn."""
        if not participant.writes_out:
            return participant
        function = participant.function
        buffers = itertools.cycle(self._buffers(self._affordable()).of(participant.id))

        def call(*given: torch.Tensor) -> torch.Tensor:
            output: torch.Tensor = function(*given, out=next(buffers))
            return output

        return replace(participant, function=call)

    def _affordable(self) -> int:
        """How many buffers a participant may have beside everyone else's."""
        if self._pool is not None:
            return len(self._pool.places[0])
        free, _ = torch.cuda.mem_get_info()
        writers = sum(one.writes_out for one in self.participants)
        share = _POOL_SHARE * free / (writers * max(1, self.like.nbytes))
        return max(1, min(_BUFFERS, int(share)))

    def _lead_of(self, participant: Participant) -> Callable[[], None]:
        """How the device is kept busy while the host gets ready to launch this one."""
        with charged(self.ledger, participant):
            seconds = guarded(_dispatch, (participant.function, self.inputs))
        lead = min(_LONGEST_LEAD_MS, max(_LEAD_MS, _LEAD_FACTOR * seconds * 1e3))
        cycles = round(lead * self.device.cycles_a_ms)
        return lambda: _spin(cycles)

    def _graphs(self, plain: Seating, mode: Mode) -> Seating:
        """Each participant's calls as a graph that is replayed: a sample is one of them."""
        moved = sum(x.nbytes for x in (*self.inputs, self.like))
        sets, calls = rotation(moved, self.device.l2 or UNKNOWN_L2, hot=mode.cache == "hot")
        rotated = [self.inputs, *(_copies(self.inputs) for _ in range(sets - 1))]
        # All of them before the first is handed out.
        self._buffers(sets)
        graphs = []
        for one in plain.participants:
            bound = [self._bound(one, n).function for n in range(sets)]
            called = [_closed(bound[n % sets], rotated[n % sets]) for n in range(calls)]
            with charged(self.ledger, one):
                graph = guarded(captured, (called,), held=sets)
            graphs.append(replace(one, function=graph))
        return replace(
            plain,
            participants=graphs,
            inputs=(),
            timer=PerCall(self.device.timer, calls),
            launches=calls,
            places=self._places(plain.participants),
            settings={"buffer_sets": sets, "bytes_a_set": moved},
        )

    def _bound(self, participant: Participant, number: int) -> Participant:
        """The participant with its own buffer of that number as its output."""
        if not participant.writes_out:
            return participant
        function = participant.function
        out = self._buffers(number + 1).of(participant.id)[number]

        def call(*given: torch.Tensor) -> torch.Tensor:
            output: torch.Tensor = function(*given, out=out)
            return output

        return replace(participant, function=call)

    def _buffers(self, count: int) -> Pool:
        """The pool, with at least so many buffers a place."""
        pool = self._pool
        if pool is None or len(pool.places[0]) < count:
            names = [one.id for one in self.participants if one.writes_out]
            pool = Pool.deal(names, count, lambda: torch.empty_like(self.like), self.seed)
            self._pool = pool
        return pool

    def _places(self, takers: Sequence[Participant]) -> dict[str, int]:
        dealt = self._buffers(1).dealt if any(one.writes_out for one in takers) else {}
        return {one.id: dealt[one.id] for one in takers if one.writes_out}


def rotation(moved: int, l2: int, *, hot: bool) -> tuple[int, int]:
    """How many buffer sets, and how many calls a graph, for calls that move so many bytes.

    Together the sets hold at least twice the cache, so that none is found in it when its turn
    comes again; where that would take too many of them, as many as there are calls.
    """
    sets = 1 if hot else min(_MOST_SETS, max(2, math.ceil(2 * l2 / moved)))
    turns = max(1, math.ceil(_GRAPH_BYTES / (moved * sets)))
    return sets, sets * min(turns, max(1, _GRAPH_CALLS // sets))


def captured(calls: Sequence[Callable[[], Any]], held: int = 0) -> Callable[..., None]:
    """The calls as one CUDA graph; calling the answer replays it.

    The last `held` outputs are kept while it is captured, so that so many calls in succession
    write to different memory where they allocate it.
    """
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    kept: list[Any] = []
    with torch.cuda.stream(side):
        # What a first call sets up, on this stream too, belongs in no graph.
        calls[0]()
        torch.cuda.synchronize()
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            for call in calls:
                kept.append(call())
                del kept[: max(0, len(kept) - held)]
        except BaseException:
            # What went wrong is told already; the end of a broken capture has nothing to add.
            with suppress(RuntimeError):
                graph.capture_end()
            raise
        graph.capture_end()
    torch.cuda.current_stream().wait_stream(side)

    def replay(*_inputs: Any) -> None:
        graph.replay()

    return replay


def _closed(function: Callable[..., Any], inputs: Sequence[torch.Tensor]) -> Callable[[], Any]:
    return lambda: function(*inputs)


def _copies(inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Equal inputs in memory of their own, of the same strides."""
    return tuple(
        torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x)
        for x in inputs
    )


def _copy(inputs: Sequence[torch.Tensor], like: torch.Tensor, case: Case) -> Participant:
    """A copy that reads and writes the case's own bytes.

    From an input into a buffer of the pool where both are half of those bytes, or else from a
    stand-in into fresh memory.
    """
    half = ceilings.copied_bytes(case.work.bytes) // 2
    for number, x in enumerate(inputs):
        alike = x.nbytes == half and (x.shape, x.dtype) == (like.shape, like.dtype)
        if alike and x.is_contiguous() and like.is_contiguous():
            return Participant(COPY, _copier(number), COPY, NOBODY, writes_out=True)
    stand_in = torch.rand(half // 4, dtype=torch.float32, device=PLACE)
    return Participant(COPY, lambda *_: stand_in.clone(), COPY, NOBODY)


def _copier(number: int) -> Callable[..., torch.Tensor]:
    def copy(*inputs: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        x = inputs[number]
        if out is None:
            return x.clone()
        if torch.cuda.is_current_stream_capturing():
            count = math.ceil(x.nbytes / _PIECE_BYTES)
            pieces = zip(out.view(-1).chunk(count), x.view(-1).chunk(count), strict=True)
            for there, here in pieces:
                there.copy_(here)
            return out
        return out.copy_(x)

    return copy


def _dispatch(function: Callable[..., Any], inputs: Sequence[torch.Tensor]) -> float:
    """Seconds until a call of the function has queued its work, typically, after the first."""
    function(*inputs)
    spent = []
    for _ in range(_DISPATCHES):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        function(*inputs)
        spent.append(time.perf_counter() - begin)
    torch.cuda.synchronize()
    return sorted(spent)[_DISPATCHES // 2]


def _drained(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The function, returning when its work is done."""

    def call(*inputs: torch.Tensor, **options: Any) -> torch.Tensor:
        output = function(*inputs, **options)
        torch.cuda.synchronize()
        return output

    return call


def _spin(cycles: int) -> None:
    # What torch's own tests spin with; nothing public does.
    torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]  # noqa: SLF001


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def _null() -> None:
    """A kernel that has nothing to do."""
    _spin(0)


def _cycles_a_ms() -> int:
    """Cycles that the device's clock counts in a millisecond, once it is awake."""
    start, end = _event(), _event()
    cycles = 20_000_000
    # The first wakes it up.
    for _ in range(2):
        start.record()
        _spin(cycles)
        end.record()
        end.synchronize()
    return round(cycles / float(start.elapsed_time(end)))
