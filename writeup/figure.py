"""Figures: the series of a view to an SVG that repeats byte for byte.

Matplotlib lives here alone, and is imported when the first figure is drawn. Nothing here
computes a result: positions come from the values of evidence, texts are evidence. Only
axis ticks are made here, as evidence of the form `tick`.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from writeup.axis import linear_ticks, log_ticks
from writeup.evidence import Evidence
from writeup.quantity import tick
from writeup.svg import INKS, Anchor, Dress, dress
from writeup.views import (
    Ceiling,
    Measured,
    Point,
    Role,
    Roof,
    RooflineBlock,
    Rung,
    StepsBlock,
    Words,
    clean,
    leaves,
    marked,
    pieces,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Where a piece of evidence leads, as seen from the page that the figure stands on.
Address = Callable[[Evidence], str]

# One pixel is one point, so that offsets and heights as drawn are the same measure.
_DPI = 72
# A point of type is about as wide as this share of its size in the measuring typeface.
_ADVANCE = 0.56
_TEXT, _SMALL = 8.6, 7.8
_WIDTH = 7.4
# Labels of marks that stand this close to each other, in points, start at one edge.
_COLUMN = 60
# Slopes closer than this ratio cannot both be labelled above; how long such a label is.
_CROWDED, _SLOPE_LABEL = 1.6, 120
# Where the columns beside the ladder end, in points from its axes.
_TIME_COLUMN, _RATIO_COLUMN = 62, 118
_RC: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "writeup",
    "font.family": ["DejaVu Sans"],
    "font.size": _TEXT,
    "figure.dpi": _DPI,
    "text.usetex": False,
    "text.parse_math": False,
    "path.simplify": False,
    "axes.unicode_minus": True,
}
_MARKERS = {Role.BASELINE: "s", Role.STEP: "o", Role.ATTEMPT: "D", Role.CONTROL: "^"}


@dataclass(frozen=True, slots=True)
class Picture:
    """An inline SVG, marked, and the evidence it shows, its ticks among them."""

    svg: str
    used: tuple[Evidence, ...]


@dataclass(slots=True)
class _Sheet:
    """One set of axes, and what its artists are to be dressed with."""

    figure: Figure
    axes: Axes
    address: Address
    put: Dress = field(default_factory=Dress)
    used: list[Evidence] = field(default_factory=list)

    def name(self, artist: Any) -> str:
        gid = f"g{len(self.put.words) + len(self.put.anchors) + len(self.put.quiet)}"
        artist.set_gid(gid)
        return gid

    def write(self, x: float, y: float, words: Words, **how: Any) -> None:
        """Write `words` at (x, y): measured clean, dressed marked."""
        style: dict[str, Any] = {"color": INKS["ink"], "fontsize": _TEXT, **how}
        artist = self.axes.annotate(clean(words), (x, y), **style)
        self.put.words[self.name(artist)] = self.mark(words)

    def mark(self, words: Words) -> str:
        """The marked text of `words`, whose evidence is remembered."""
        self.used.extend(leaf for leaf in leaves(words) if isinstance(leaf, Evidence))
        return marked(words)

    def link(self, artist: Any, what: Words, evidence: Evidence) -> None:
        """Make a mark lead to its measurement, where it leads anywhere."""
        href = self.address(evidence)
        if href:
            self.put.anchors[self.name(artist)] = Anchor(href, self.mark(what))

    def tick(self, value: float, unit: str) -> Evidence:
        evidence = Evidence("tick", (), tick(value, unit), (repr(value), unit), value, unit)
        self.used.append(evidence)
        return evidence


def roofline(block: RooflineBlock, *, prefix: str, address: Address) -> Picture:
    """Rate over intensity, log-log: ceilings with bands, ridge, steps joined, attempts hollow.

    intensity is in flop/byte, rates are in flop/s. Raises ValueError where nothing is drawn
    on a log scale, that is where a value is not positive.
    """
    x, y = _roofline_window(block)

    def draw(sheet: _Sheet) -> None:
        _log_axes(sheet, x, y)
        _draw_ceilings(sheet, block, x, y)
        _draw_ridge(sheet, block, y)
        notes = _draw_matched(sheet, block.points) + _draw_points(sheet, block.points)
        _write_notes(sheet, notes)
        _label_axes(sheet, "arithmetic intensity", "achieved rate")

    return _picture(block.title, block.summary, draw, height=4.5, prefix=prefix, address=address)


def ladder(block: StepsBlock, *, prefix: str, address: Address) -> Picture:
    """One row a step in story order: its time with band, over the baseline's line.

    Times are in seconds; the axis starts at zero unless they span more than a decade.
    Raises ValueError where no step was timed.
    """
    rungs = [rung for rung in block.rungs if rung.time is not None]
    if not rungs:
        raise ValueError("a ladder needs a step that was timed")

    def draw(sheet: _Sheet) -> None:
        _ladder_axes(sheet, block.rungs)
        _draw_baseline(sheet, block)
        _draw_rungs(sheet, block.rungs)

    height = 0.95 + 0.42 * len(block.rungs)
    left = max(len(clean(rung.name)) for rung in block.rungs) * _TEXT * _ADVANCE / 72 + 0.2
    return _picture(
        block.title,
        block.summary,
        draw,
        height=height,
        left=min(left, 2.4),
        right=1.75,
        prefix=prefix,
        address=address,
    )


def _picture(
    title: Words,
    summary: Words,
    draw: Callable[[_Sheet], None],
    *,
    height: float,
    prefix: str,
    address: Address,
    left: float = 0.95,
    right: float = 0.2,
) -> Picture:
    # Here and not above: matplotlib takes longer to load than most commands take to run.
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(_RC):
        figure = Figure(figsize=(_WIDTH, height))
        FigureCanvasSVG(figure)
        axes = figure.add_axes(
            (
                left / _WIDTH,
                0.56 / height,
                1 - (left + right) / _WIDTH,
                1 - 0.92 / height,
            )
        )
        figure.patch.set_visible(False)
        axes.patch.set_visible(False)
        sheet = _Sheet(figure, axes, address)
        draw(sheet)
        drawing = io.BytesIO()
        figure.savefig(drawing, format="svg", metadata={"Date": None})
    svg = dress(
        drawing.getvalue(),
        sheet.put,
        prefix=prefix,
        title=sheet.mark(title),
        summary=marked(summary),
    )
    return Picture(svg, tuple(sheet.used))


# Axes.


def _frame(axes: Axes) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(INKS["muted"])
    axes.spines["bottom"].set_linewidth(0.8)
    axes.tick_params(which="both", length=0, pad=5)
    axes.set_axisbelow(True)


def _set_ticks(sheet: _Sheet, axis: Any, values: Sequence[float], unit: str) -> None:
    ticks = [sheet.tick(value, unit) for value in values]
    axis.set_ticks(values, [t.text for t in ticks], color=INKS["muted"], fontsize=_SMALL)
    axis.set_ticks([], minor=True)
    axis.grid(visible=True, color=INKS["grid"], linewidth=0.7)
    for label, evidence in zip(axis.get_ticklabels(), ticks, strict=True):
        sheet.put.words[sheet.name(label)] = evidence.marked
    axis.set_gid(f"axis-{axis.axis_name}")
    sheet.put.quiet.add(f"axis-{axis.axis_name}")


def _label_axes(sheet: _Sheet, x: str, y: str) -> None:
    frame = sheet.axes
    frame.annotate(
        x,
        (1, 0),
        xycoords="axes fraction",
        xytext=(0, -31),
        textcoords="offset points",
        ha="right",
        va="bottom",
        color=INKS["muted"],
        fontsize=_TEXT,
    )
    if y:
        frame.annotate(
            y,
            (0, 1),
            xycoords="axes fraction",
            xytext=(-60, 12),
            textcoords="offset points",
            ha="left",
            color=INKS["muted"],
            fontsize=_TEXT,
        )


def _log_axes(sheet: _Sheet, x: tuple[float, float], y: tuple[float, float]) -> None:
    axes = sheet.axes
    _frame(axes)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*x)
    axes.set_ylim(*y)
    _set_ticks(sheet, axes.xaxis, log_ticks(*x), "flop/byte")
    _set_ticks(sheet, axes.yaxis, log_ticks(*y), "flop/s")


# The roofline.


def _roofline_window(block: RooflineBlock) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of intensity and rate that hold every point, the ridge and the roofs."""
    x = [p for point in block.points for p in _positions(point)]
    ridge = block.ridge
    inner = [*x, *_ridges(block.ceilings), *([_number(ridge)] if ridge else [])]
    if not inner or min(inner) <= 0:
        raise ValueError("a roofline needs points of positive intensity")
    left, right = min(inner) / 6, max(inner) * (8 if ridge else 20)
    rates = [p.rate.value for p in block.points if p.rate]
    levels = [c.rate.value for c in block.ceilings if c.roof is not Roof.MEMORY]
    slopes = [c.rate.value for c in block.ceilings if c.roof is Roof.MEMORY]
    top = max([*rates, *levels, *(() if levels else (slope * right for slope in slopes))])
    bottom = min([*rates, *levels, *(slope * left * 2 for slope in slopes)])
    if bottom <= 0:
        raise ValueError("a roofline needs positive rates")
    return (left, right), (bottom / 2, top * 3)


def _positions(point: Point) -> tuple[float, ...]:
    shown = (point.intensity, point.counted)
    return tuple(_number(e) for e in shown if e is not None)


def _number(evidence: Evidence) -> float:
    return Measured(evidence).value


def _ridges(ceilings: Sequence[Ceiling]) -> list[float]:
    """Where each slope meets the highest level."""
    level = _best(ceilings, Roof.COMPUTE)
    slopes = [c.rate.value for c in ceilings if c.roof is Roof.MEMORY]
    return [level / slope for slope in slopes if slope > 0] if level else []


def _best(ceilings: Iterable[Ceiling], roof: Roof) -> float | None:
    """The highest measured roof of a kind; a datasheet's where none was measured."""
    of_kind = [c for c in ceilings if c.roof is roof]
    of_kind = [c for c in of_kind if c.measured] or of_kind
    return max((c.rate.value for c in of_kind), default=None)


def _draw_ceilings(
    sheet: _Sheet, block: RooflineBlock, x: tuple[float, float], y: tuple[float, float]
) -> None:
    level, slope = _best(block.ceilings, Roof.COMPUTE), _best(block.ceilings, Roof.MEMORY)
    slopes, levels = [], []
    for ceiling in sorted(block.ceilings, key=lambda c: (-c.rate.value, clean(c.name))):
        rate = ceiling.rate.value
        if ceiling.roof is Roof.MEMORY:
            end = min(x[1], level / rate) if level else x[1]
            slopes.append((ceiling, (max(x[0], y[0] / rate), end)))
        else:
            compute = ceiling.roof is Roof.COMPUTE and slope
            levels.append((ceiling, (max(x[0], rate / slope) if compute and slope else x[0], x[1])))
    for ceiling, ends in [*slopes, *levels]:
        _draw_roof(sheet, ceiling, ends)
    _label_slopes(sheet, slopes)
    _label_levels(sheet, [ceiling for ceiling, _ in levels], x[1])


def _along(ceiling: Ceiling, x: Sequence[float], rate: float) -> list[float]:
    """Heights of a roof at the intensities x: a slope for memory, a level for the others."""
    return [rate * intensity if ceiling.roof is Roof.MEMORY else rate for intensity in x]


def _draw_roof(sheet: _Sheet, ceiling: Ceiling, x: tuple[float, float]) -> None:
    rate, (low, high) = ceiling.rate.value, ceiling.rate.span
    lower, upper = (_along(ceiling, x, end) for end in (low, high))
    if high > low:
        sheet.axes.fill_between(x, lower, upper, color=INKS["band"], linewidth=0, zorder=1)
    style = (0, (1, 2)) if ceiling.roof is Roof.LAUNCH else "-"
    (line,) = sheet.axes.plot(
        x,
        _along(ceiling, x, rate),
        color=INKS["roof"],
        linewidth=1.5,
        zorder=2,
        linestyle=style if ceiling.measured else (0, (5, 3)),
    )
    estimate = ceiling.rate.estimate
    sheet.link(line, _joined(ceiling.name, estimate), estimate)


def _label_slopes(sheet: _Sheet, slopes: Sequence[tuple[Ceiling, tuple[float, float]]]) -> None:
    """Along each slope, above it; below it, and further on, where the one above is close."""
    previous, crowded = math.inf, 0
    for ceiling, x in slopes:
        close = previous / ceiling.rate.value < _CROWDED
        crowded = crowded + 1 if close else 0
        previous = ceiling.rate.value
        heights = _along(ceiling, x, ceiling.rate.value)
        angle = _angle(sheet.axes, x, heights)
        forth = max(crowded - 1, 0) * _SLOPE_LABEL
        turned = math.radians(angle)
        aside = -5 if crowded else 5
        sheet.write(
            x[0],
            heights[0],
            _joined(ceiling.name, ceiling.rate.estimate),
            xytext=(
                (forth + 8) * math.cos(turned) - aside * math.sin(turned),
                (forth + 8) * math.sin(turned) + aside * math.cos(turned),
            ),
            textcoords="offset points",
            ha="left",
            va="top" if crowded else "bottom",
            rotation_mode="anchor",
            rotation=angle,
            color=INKS["muted"],
            fontsize=_SMALL,
        )


def _label_levels(sheet: _Sheet, levels: Sequence[Ceiling], right: float) -> None:
    """Above the right end of each level, clear of the lines and labels that are close above."""
    lines = [_display_height(sheet.axes, ceiling.rate.value) for ceiling in levels]
    for ceiling, line, foot in zip(levels, lines, _above(lines, _SMALL * 1.5), strict=True):
        sheet.write(
            right,
            ceiling.rate.value,
            _joined(ceiling.name, ceiling.rate.estimate),
            xytext=(-2, 4 + foot - line),
            textcoords="offset points",
            ha="right",
            va="bottom",
            color=INKS["muted"],
            fontsize=_SMALL,
        )


def _above(lines: Sequence[float], room: float) -> list[float]:
    """For each line, the lowest foot at or above it of a label that takes `room` upwards.

    No label covers a line or another label, and they keep the order of their lines.
    """
    feet = list(lines)
    free = -math.inf
    for index in sorted(range(len(lines)), key=lambda index: (lines[index], index)):
        foot = max(lines[index], free)
        for line in sorted(lines):
            if foot < line < foot + room:
                foot = line
        feet[index] = foot
        free = foot + room
    return feet


def _angle(axes: Axes, x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of a line as drawn, in degrees."""
    ends = axes.transData.transform(list(zip(x, y, strict=True)))
    (x0, y0), (x1, y1) = ends[0], ends[-1]
    return math.degrees(math.atan2(y1 - y0, x1 - x0))


def _joined(name: Words, evidence: Evidence) -> Words:
    return (*pieces(name), " ", evidence)


def _draw_ridge(sheet: _Sheet, block: RooflineBlock, y: tuple[float, float]) -> None:
    level = _best(block.ceilings, Roof.COMPUTE)
    if level is None or block.ridge is None:
        return
    ridge = _number(block.ridge)
    sheet.axes.plot(
        [ridge, ridge],
        [y[0], level],
        color=INKS["muted"],
        linewidth=0.9,
        linestyle=(0, (1, 2.5)),
        zorder=1,
    )
    sheet.write(
        ridge,
        y[0],
        ("ridge ", block.ridge),
        color=INKS["muted"],
        fontsize=_SMALL,
        xytext=(5, 7),
        textcoords="offset points",
        ha="left",
        va="bottom",
    )


@dataclass(frozen=True, slots=True)
class _Note:
    """A label that wants to stand to the right of (x, rate)."""

    x: float
    rate: float
    words: Words
    ink: str = "ink"


def _draw_matched(sheet: _Sheet, points: Sequence[Point]) -> list[_Note]:
    """What a copy of the case's own bytes allows: a short bar at its intensity, drawn once."""
    seen: dict[tuple[float, float], Evidence] = {}
    for point in points:
        if point.matched is not None:
            seen.setdefault((_number(point.intensity), _number(point.matched)), point.matched)
    return [_draw_bar(sheet, *place, matched) for place, matched in sorted(seen.items())]


def _draw_bar(sheet: _Sheet, intensity: float, rate: float, matched: Evidence) -> _Note:
    ends = [intensity / 1.22, intensity * 1.22]
    style: dict[str, Any] = {
        "color": INKS["copy"],
        "linewidth": 2.4,
        "solid_capstyle": "butt",
        "zorder": 3,
    }
    (line,) = sheet.axes.plot(ends, [rate, rate], **style)
    label = ("copy of the same bytes ", matched)
    sheet.link(line, label, matched)
    return _Note(ends[1], rate, label, "copy")


def _draw_points(sheet: _Sheet, points: Sequence[Point]) -> list[_Note]:
    timed = [(point, point.rate) for point in points if point.rate is not None]
    kept = [(p, rate) for p, rate in timed if p.role in (Role.BASELINE, Role.STEP)]
    x, y = [_number(p.intensity) for p, _ in kept], [rate.value for _, rate in kept]
    sheet.axes.plot(x, y, color=INKS["step"], linewidth=1.1, zorder=3)
    return [_draw_point(sheet, point, rate) for point, rate in timed]


def _draw_point(sheet: _Sheet, point: Point, rate: Measured) -> _Note:
    place = _number(point.intensity), rate.value
    label = _joined(point.name, rate.estimate)
    _draw_counted(sheet, point, rate.value)
    _draw_mark(sheet, point.role, place, label, rate)
    return _Note(*place, label)


def _draw_counted(sheet: _Sheet, point: Point, rate: float) -> None:
    """From compulsory bytes to those a counter saw: how far apart they are is re-reading."""
    if point.counted is None:
        return
    ends = [_number(point.counted), _number(point.intensity)]
    (line,) = sheet.axes.plot(
        ends,
        [rate, rate],
        color=INKS[point.role.value],
        linewidth=1,
        marker="|",
        markersize=7,
        linestyle=(0, (2, 2)),
        zorder=3,
    )
    sheet.link(line, (*pieces(point.name), " by counted bytes ", point.counted), point.counted)


def _draw_mark(
    sheet: _Sheet, role: Role, at: tuple[float, float], label: Words, measured: Measured
) -> None:
    ink = INKS[role.value]
    hollow = role is Role.ATTEMPT
    (mark,) = sheet.axes.plot(
        [at[0]],
        [at[1]],
        marker=_MARKERS[role],
        markersize=7,
        linestyle="none",
        markerfacecolor=INKS["paper"] if hollow else ink,
        markeredgecolor=ink if hollow else INKS["paper"],
        markeredgewidth=1.6 if hollow else 1.2,
        zorder=5,
    )
    sheet.link(mark, label, measured.estimate)


def _write_notes(sheet: _Sheet, notes: Sequence[_Note]) -> None:
    """Each label to the right of its mark, at a height where it covers no other."""
    wanted = [_display_height(sheet.axes, note.rate) for note in notes]
    order = sorted(range(len(notes)), key=lambda index: (wanted[index], index))
    leader = {"arrowstyle": "-", "color": INKS["muted"], "linewidth": 0.6}
    ends = {"shrinkA": 1, "shrinkB": 5, "relpos": (0, 0.5)}
    right = max((_display_width(sheet.axes, note.x) for note in notes), default=0.0)
    for note, have, given in zip(notes, wanted, _apart(wanted, order, _TEXT * 1.5), strict=True):
        near = right - _display_width(sheet.axes, note.x) < _COLUMN
        shift = right - _display_width(sheet.axes, note.x) if near else 0.0
        sheet.write(
            note.x,
            note.rate,
            note.words,
            xytext=(shift + 18, given - have),
            textcoords="offset points",
            ha="left",
            va="center",
            color=INKS[note.ink],
            arrowprops=leader | ends,
        )


def _display_height(axes: Axes, rate: float) -> float:
    return float(axes.transData.transform((axes.get_xlim()[0], rate))[1])


def _display_width(axes: Axes, intensity: float) -> float:
    return float(axes.transData.transform((intensity, axes.get_ylim()[0]))[0])


def _apart(heights: Sequence[float], order: Sequence[int], gap: float) -> list[float]:
    """Groups of labels that would touch are spaced evenly about their common middle."""
    groups: list[tuple[float, list[int]]] = []
    for index in order:
        groups.append((heights[index], [index]))
        while len(groups) > 1 and _touch(groups[-2], groups[-1], gap):
            (low, below), (high, above) = groups[-2:]
            both = below + above
            middle = (low * len(below) + high * len(above)) / len(both)
            groups[-2:] = [(middle, both)]
    placed = list(heights)
    for middle, members in groups:
        for rank, index in enumerate(members):
            placed[index] = middle + (rank - (len(members) - 1) / 2) * gap
    return placed


def _touch(below: tuple[float, list[int]], above: tuple[float, list[int]], gap: float) -> bool:
    return above[0] - below[0] < gap * (len(below[1]) + len(above[1])) / 2


# The ladder.


def _ladder_axes(sheet: _Sheet, rungs: Sequence[Rung]) -> None:
    axes = sheet.axes
    _frame(axes)
    times = [rung.time for rung in rungs if rung.time is not None]
    low = min(time.span[0] for time in times)
    high = max(time.span[1] for time in times)
    if low > 0 and high / low > 12:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.6, high * 1.5)
        values = log_ticks(low / 1.6, high * 1.5)
    else:
        axes.set_xlim(0, high * 1.06)
        values = linear_ticks(0, high * 1.05)
    axes.set_ylim(len(rungs) - 0.4, -0.6)
    axes.set_yticks([])
    _set_ticks(sheet, axes.xaxis, values, "s")
    _label_axes(sheet, "time, with its band", "")


def _draw_baseline(sheet: _Sheet, block: StepsBlock) -> None:
    baseline = next((rung for rung in block.rungs if rung.role is Role.BASELINE), None)
    if baseline is None or baseline.time is None:
        return
    line = sheet.axes.axvline(
        baseline.time.value, color=INKS["baseline"], linewidth=1.1, linestyle=(0, (4, 3)), zorder=1
    )
    sheet.link(
        line,
        ("baseline ", *pieces(baseline.name), " ", baseline.time.estimate),
        baseline.time.estimate,
    )
    sheet.write(
        baseline.time.value,
        -0.6,
        "baseline",
        color=INKS["muted"],
        fontsize=_SMALL,
        xytext=(0, 4),
        textcoords="offset points",
        ha="center",
        va="bottom",
    )


def _draw_rungs(sheet: _Sheet, rungs: Sequence[Rung]) -> None:
    for words, column in (("time", _TIME_COLUMN), ("speed-up", _RATIO_COLUMN)):
        _write_margin(sheet, -0.78, words, column, color=INKS["muted"], fontsize=_SMALL)
    kept = [
        (row, rung.time.value)
        for row, rung in enumerate(rungs)
        if rung.time is not None and rung.role in (Role.BASELINE, Role.STEP)
    ]
    sheet.axes.step(
        [value for _, value in kept],
        [row for row, _ in kept],
        where="post",
        color=INKS["step"],
        linewidth=1.1,
        zorder=2,
    )
    for row, rung in enumerate(rungs):
        sheet.write(
            0,
            row,
            rung.name,
            xycoords=("axes fraction", "data"),
            xytext=(-9, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            annotation_clip=False,
        )
        if rung.time is None:
            sheet.write(
                0,
                row,
                rung.status.word,
                xycoords=("axes fraction", "data"),
                xytext=(6, 0),
                textcoords="offset points",
                ha="left",
                va="center",
                color=INKS["attempt"],
                fontsize=_SMALL,
            )
        else:
            _draw_rung(sheet, row, rung, rung.time)


def _draw_rung(sheet: _Sheet, row: int, rung: Rung, time: Measured) -> None:
    low, high = time.span
    sheet.axes.plot(
        [low, high],
        [row, row],
        color=INKS[rung.role.value],
        linewidth=13,
        alpha=0.3,
        solid_capstyle="butt",
        zorder=3,
    )
    label = _joined(rung.name, time.estimate)
    _draw_mark(sheet, rung.role, (time.value, row), label, time)
    _write_margin(sheet, row, time.estimate, _TIME_COLUMN)
    if rung.speedup is not None and rung.role is not Role.BASELINE:
        _write_margin(sheet, row, rung.speedup.estimate, _RATIO_COLUMN)


def _write_margin(sheet: _Sheet, row: float, words: Words, offset: float, **how: Any) -> None:
    """In a column to the right of the axes, offset points from them, ending there."""
    sheet.write(
        1,
        row,
        words,
        xycoords=("axes fraction", "data"),
        xytext=(offset, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        annotation_clip=False,
        **how,
    )
