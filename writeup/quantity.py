"""A value with its unit and band, and how it is written.

Inside, values stand in base units (s, byte, flop, Hz, W ...) and ratios in unit "1"; a prefix
is chosen when a value is shown. The digits shown follow from the width of the band: the last
one is the decade of its half-width, but never fewer than two significant digits nor more than
five. Without a band three are shown; a whole number (an `int`) in its own unit is exact.
Standard library only: the harness and the verifier of a site use this module too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal

# U+202F, a narrow space at which a line does not break: before units, between thousands.
SPACE = "\u202f"
DASH = "\u2013"
MINUS = "\u2212"

LEAST_DIGITS = 2
MOST_DIGITS = 5
PLAIN_DIGITS = 3
TICK_DIGITS = 6

# Numbers outside these decades of the unit shown are written with a power of ten.
_LOWEST_DECADE = -3
_HIGHEST_DECADE = 14

# Wide enough for any sum of a largest and a smallest float to be exact.
_EXACT = Context(prec=1500)
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value with its unit, and the ends of its band where there is one.

    unit is a base unit, or one that `base` reduces to it; any other name is shown as it is.
    "%" and "×" are ways to show a ratio: the value stays the ratio (0.97 shows as 97 %).
    Raises ValueError where a number is not finite, where a band has one end only, and where
    its ends are in disorder.
    """

    value: float
    unit: str
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        for number in (self.value, self.low, self.high):
            if number is not None and not _is_finite(number):
                raise ValueError("a quantity is finite")
        if (self.low is None) != (self.high is None):
            raise ValueError("a band has two ends")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError("a band runs from low to high")

    @property
    def base(self) -> Quantity:
        """The same in base units: `ns` becomes `s`."""
        value, unit = to_base(self.value, self.unit)
        if unit == self.unit:
            return self
        if self.low is None or self.high is None:
            return Quantity(value, unit)
        low, high = to_base(self.low, self.unit)[0], to_base(self.high, self.unit)[0]
        return Quantity(value, unit, low, high)


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit as shown: its symbol, its size in base units, how it is read out, its base."""

    symbol: str
    factor: Decimal
    spoken: str
    base: str


@dataclass(frozen=True, slots=True)
class Column:
    """The numbers of a table column, all in one unit.

    unit is its symbol, empty for ratios and counts. cells and bands are as long as the
    quantities given, and empty where there was no quantity or no band.
    """

    unit: str
    cells: tuple[str, ...]
    bands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Form:
    """How numbers are to be written: the unit, the decade of the last digit, a power of ten."""

    scale: Scale
    place: int
    power: int


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number beyond the range of floats
        return False


def _prefixed(base: str, symbol: str, spoken: str, prefixes: str) -> tuple[Scale, ...]:
    names = {"": "", "k": "kilo", "M": "mega", "G": "giga", "T": "tera", "P": "peta"}
    return tuple(
        Scale(prefix + symbol, Decimal(1).scaleb(3 * step), names[prefix] + spoken, base)
        for step, prefix in enumerate(["", *prefixes])
    )


# From small to large.
_LADDERS: Mapping[str, tuple[Scale, ...]] = {
    "s": (
        Scale("ns", Decimal("1e-9"), "nanoseconds", "s"),
        Scale("µs", Decimal("1e-6"), "microseconds", "s"),
        Scale("ms", Decimal("1e-3"), "milliseconds", "s"),
        Scale("s", Decimal(1), "seconds", "s"),
    ),
    "byte": _prefixed("byte", "B", "bytes", "kMGTP"),
    "byte/s": _prefixed("byte/s", "B/s", "bytes per second", "kMGTP"),
    "flop": _prefixed("flop", "FLOP", "flop", "kMGTP"),
    "flop/s": _prefixed("flop/s", "FLOP/s", "flop per second", "kMGTP"),
    "flop/byte": (Scale("FLOP/byte", Decimal(1), "flop per byte", "flop/byte"),),
    "Hz": _prefixed("Hz", "Hz", "hertz", "kMG"),
    "W": (Scale("W", Decimal(1), "watts", "W"),),
    "degC": (Scale("°C", Decimal(1), "degrees Celsius", "degC"),),
    "J": (Scale("J", Decimal(1), "joules", "J"),),
    "token/s": (Scale("token/s", Decimal(1), "tokens per second", "token/s"),),
    "item/s": (Scale("item/s", Decimal(1), "items per second", "item/s"),),
    "1": (Scale("", Decimal(1), "", "1"),),
    "×": (Scale("×", Decimal(1), "times", "1"),),
    "%": (Scale("%", Decimal("0.01"), "percent", "1"),),
}

# What a caller may ask for; the binary multiples are never chosen otherwise.
_SYMBOLS: Mapping[str, Scale] = {
    scale.symbol: scale
    for scale in (
        *(scale for ladder in _LADDERS.values() for scale in ladder),
        Scale("KiB", Decimal(2**10), "kibibytes", "byte"),
        Scale("MiB", Decimal(2**20), "mebibytes", "byte"),
        Scale("GiB", Decimal(2**30), "gibibytes", "byte"),
    )
}

# What else a record may say: the base unit, and the factor as multiplier and divisor. Dividing
# by 10**9 rounds once; multiplying by 1e-9, which no float holds, would round twice.
_REDUCTIONS: Mapping[str, tuple[str, int, int]] = {
    "ms": ("s", 1, 10**3),
    "us": ("s", 1, 10**6),
    "µs": ("s", 1, 10**6),
    "ns": ("s", 1, 10**9),
    "kHz": ("Hz", 10**3, 1),
    "MHz": ("Hz", 10**6, 1),
    "GHz": ("Hz", 10**9, 1),
    "KiB": ("byte", 2**10, 1),
    "MiB": ("byte", 2**20, 1),
    "GiB": ("byte", 2**30, 1),
}


def to_base(value: float, unit: str) -> tuple[float, str]:
    """The value in base units, and that unit; unchanged where the unit is one already.

    Whole numbers stay whole where the factor is. Raises OverflowError where no float holds it.
    """
    base, multiplier, divisor = _REDUCTIONS.get(unit, (unit, 1, 1))
    if divisor == 1:
        return value * multiplier, base
    return value / divisor, base


def scale(q: Quantity) -> Scale:
    """The unit in which the quantity, once rounded, has one to three digits before the point."""
    return _fitting(q.base, _decade(q.base))


def common_scale(quantities: Sequence[Quantity]) -> Scale:
    """One unit for all: the one that fits their middle by size.

    Raises ValueError on none, and where they do not share a base unit.
    """
    bases = [q.base for q in quantities]
    if len({q.unit for q in bases}) != 1:
        raise ValueError("quantities of one column share a unit")
    decades = sorted(_decade(q) for q in bases if q.value) or [0]
    return _fitting(bases[0], decades[(len(decades) - 1) // 2])


def show(q: Quantity, unit: str | Scale | None = None) -> str:
    """Value and unit, as in "1.01 ms".

    unit overrides the choice: a `Scale`, or a symbol ("GiB", "B", "%" or "×" for a ratio).
    Raises ValueError on a unit of something else.
    """
    base, form = _form(q, unit)
    return _with_unit(_powered(_digits(_scaled(base.value, form), form), form), form.scale)


def show_band(q: Quantity, unit: str | Scale | None = None) -> str:
    """The ends of the band with the digits and unit of `show`, as in "1.00–1.02 ms".

    Empty without a band. Raises ValueError on a unit of something else.
    """
    base, form = _form(q, unit)
    ends = _ends(base, form)
    return _with_unit(ends, form.scale) if ends else ""


def column(quantities: Sequence[Quantity | None], unit: str | Scale | None = None) -> Column:
    """The quantities as numbers in one common unit, which the header names.

    Raises ValueError where they do not share a base unit.
    """
    present = [q for q in quantities if q is not None]
    if unit is None:
        unit = common_scale(present) if present else _SYMBOLS[""]
    forms = [None if q is None else _form(q, unit) for q in quantities]
    return Column(
        unit=unit if isinstance(unit, str) else unit.symbol,
        cells=tuple("" if f is None else _cell(*f) for f in forms),
        bands=tuple("" if f is None else _ends(*f) for f in forms),
    )


def tick(value: float, unit: str, shown: Scale | None = None) -> str:
    """The label of an axis tick: no trailing zeros, as in "10 µs" or "0.5 ms".

    With `shown`, one unit for the whole axis which its title names, the number alone.
    """
    q = Quantity(value, unit).base
    chosen = shown or scale(q)
    number = Context(prec=TICK_DIGITS).divide(_decimal(q.value), chosen.factor).normalize()
    power = _power(number)
    form = _Form(chosen, int(number.as_tuple().exponent), power)
    text = _powered(_digits(number, form), form)
    return text if shown else _with_unit(text, chosen)


def spoken(q: Quantity, unit: str | Scale | None = None) -> str:
    """For accessible names: "1.01 milliseconds", with no signs that are read out oddly."""
    base, form = _form(q, unit)
    return _said(_digits(_scaled(base.value, form), form), form)


def spoken_band(q: Quantity, unit: str | Scale | None = None) -> str:
    """For accessible names: "1.00 to 1.02 milliseconds"; empty without a band."""
    base, form = _form(q, unit)
    if base.low is None or base.high is None:
        return ""
    low, high = (_digits(_scaled(end, form), form) for end in (base.low, base.high))
    return _said(f"{low} to {high}", form)


def _decimal(value: float) -> Decimal:
    """The shortest decimal that reads back as this number; whole numbers exactly."""
    return Decimal(value) if isinstance(value, int) else Decimal(repr(float(value)))


def _half_width(q: Quantity) -> Decimal | None:
    if q.low is None or q.high is None:
        return None
    return _EXACT.subtract(_decimal(q.high), _decimal(q.low)) / 2


def _last_place(value: Decimal, half_width: Decimal | None) -> int:
    """The decade of the last digit shown."""
    if not value and not half_width:
        return 0
    decade = (value or half_width or value).adjusted()
    place = _place_below(decade, half_width)
    rounded = _round(value, place)
    # 999.6 rounds up into the next decade, and has a digit more or a coarser last one there.
    return _place_below(rounded.adjusted(), half_width) if rounded else place


def _place_below(decade: int, half_width: Decimal | None) -> int:
    if half_width is None:
        digits = PLAIN_DIGITS
    elif not half_width:
        digits = MOST_DIGITS
    else:
        wanted = decade - half_width.adjusted() + 1
        digits = min(max(wanted, LEAST_DIGITS), MOST_DIGITS)
    return decade - digits + 1


def _round(value: Decimal, place: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(place), context=_EXACT)


def _decade(q: Quantity) -> int:
    """The decade of the value in base units as it will be shown, that is, rounded."""
    value, half_width = _decimal(q.value), _half_width(q)
    if not value:
        return half_width.adjusted() if half_width else 0
    return _round(value, _last_place(value, half_width)).adjusted()


def _fitting(q: Quantity, decade: int) -> Scale:
    ladder = _LADDERS.get(q.unit) or (Scale(q.unit, Decimal(1), q.unit, q.unit),)
    reached = [rung for rung in ladder if rung.factor.adjusted() <= decade]
    return reached[-1] if reached else ladder[0]


def _form(q: Quantity, unit: str | Scale | None) -> tuple[Quantity, _Form]:
    base = q.base
    chosen = _asked(unit, base) if unit is not None else scale(base)
    half_width = _half_width(base)
    if isinstance(base.value, int) and half_width is None and chosen.factor == 1:
        return base, _Form(chosen, 0, 0)
    value = _EXACT.divide(_decimal(base.value), chosen.factor)
    if half_width is not None:
        half_width = _EXACT.divide(half_width, chosen.factor)
    place = _last_place(value, half_width)
    return base, _Form(chosen, place, _power(_round(value, place)))


def _asked(unit: str | Scale, q: Quantity) -> Scale:
    found = _SYMBOLS.get(unit) if isinstance(unit, str) else unit
    if found is None or found.base != _fitting(q, 0).base:
        raise ValueError(f"{q.unit} cannot be shown as {unit if found is None else found.symbol}")
    return found


def _power(rounded: Decimal) -> int:
    if not rounded or _LOWEST_DECADE <= rounded.adjusted() <= _HIGHEST_DECADE:
        return 0
    return rounded.adjusted()


def _scaled(value: float, form: _Form) -> Decimal:
    return _EXACT.divide(_decimal(value), form.scale.factor)


def _digits(scaled: Decimal, form: _Form) -> str:
    """The rounded number in the unit shown, in ASCII, less its power of ten."""
    rounded = _round(scaled, form.place)
    if not rounded:
        rounded = abs(rounded)  # no minus sign before a zero
    return f"{rounded.scaleb(-form.power, context=_EXACT):f}"


def _grouped(text: str) -> str:
    whole, point, fraction = text.partition(".")
    sign, whole = (MINUS, whole[1:]) if whole.startswith("-") else ("", whole)
    if len(whole) > 4:
        whole = f"{int(whole):,}".replace(",", SPACE)
    return sign + whole + point + fraction


def _powered(digits: str, form: _Form) -> str:
    return _grouped(digits) + _times_ten(form.power)


def _times_ten(power: int) -> str:
    return f"×10{str(power).translate(_SUPERSCRIPTS)}" if power else ""


def _cell(q: Quantity, form: _Form) -> str:
    return _powered(_digits(_scaled(q.value, form), form), form)


def _ends(q: Quantity, form: _Form) -> str:
    """Both ends of the band without the unit; an en dash would be lost beside a minus sign."""
    if q.low is None or q.high is None:
        return ""
    low, high = (_grouped(_digits(_scaled(end, form), form)) for end in (q.low, q.high))
    joined = f"{low} to {high}" if q.low < 0 else f"{low}{DASH}{high}"
    return f"({joined}){_times_ten(form.power)}" if form.power else joined


def _with_unit(number: str, shown: Scale) -> str:
    return f"{number}{SPACE}{shown.symbol}" if shown.symbol else number


def _said(digits: str, form: _Form) -> str:
    power = f" times 10 to the power of {form.power}" if form.power else ""
    said = (digits + power).replace("-", "minus ")
    return f"{said} {form.scale.spoken}" if form.scale.spoken else said
