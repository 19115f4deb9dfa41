"""How numbers are written, for any number: read back, within half of the last digit.

The reader here takes a text apart by itself: sign, groups, point, power of ten, unit.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.effort import examples
from writeup.quantity import (
    DASH,
    LEAST_DIGITS,
    MINUS,
    MOST_DIGITS,
    PLAIN_DIGITS,
    SPACE,
    Quantity,
    column,
    common_scale,
    scale,
    show,
    show_band,
    spoken,
    tick,
)

# Size of each unit shown, in base units; written down here a second time on purpose.
SIZES = {
    "": 1, "×": 1, "%": Fraction(1, 100),
    "ns": Fraction(1, 10**9), "µs": Fraction(1, 10**6), "ms": Fraction(1, 10**3), "s": 1,
    "W": 1, "°C": 1, "J": 1, "FLOP/byte": 1, "token/s": 1, "item/s": 1,
    **{
        prefix + unit: 1000**power
        for unit in ("B", "B/s", "FLOP", "FLOP/s", "Hz")
        for power, prefix in enumerate(["", "k", "M", "G", "T", "P"])
    },
}  # fmt: skip
PREFIXED = ["s", "byte", "byte/s", "flop", "flop/s", "Hz"]
UNITS = [*PREFIXED, "flop/byte", "W", "degC", "J", "token/s", "item/s", "1", "×", "%"]

NUMBER = re.compile(
    rf"(?P<sign>{MINUS}?)(?P<whole>[0-9]{{1,3}}(?:{SPACE}[0-9]{{3}})+|[0-9]{{1,4}})"
    r"(?:\.(?P<part>[0-9]+))?(?:×10(?P<power>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))?"
)
POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def decade(number: Fraction) -> int:
    """The power of ten of the first digit."""
    power = 0
    while abs(number) >= Fraction(10) ** (power + 1):
        power += 1
    while abs(number) < Fraction(10) ** power:
        power -= 1
    return power


def last_digit(quantity: Quantity) -> Fraction:
    """What the last digit of a number in ladders of tens is worth, in base units, by the rule."""
    value = exact(quantity.value)
    half = None
    if quantity.low is not None:
        half = (exact(quantity.high) - exact(quantity.low)) / 2
    if not value:
        return Fraction(1) if not half else Fraction(10) ** (decade(half) - LEAST_DIGITS + 1)
    worth = Fraction(10) ** _place(decade(value), half)
    rounded = round(value / worth) * worth
    # What rounds up to the next decade is a number of that decade.
    return Fraction(10) ** _place(decade(rounded), half) if rounded else worth


def _place(first: int, half: Fraction | None) -> int:
    if half is None:
        return first - PLAIN_DIGITS + 1
    if not half:
        return first - MOST_DIGITS + 1
    return min(max(decade(half), first - MOST_DIGITS + 1), first - LEAST_DIGITS + 1)


class Read:
    """A number as shown: its value, and what its last place is worth, in base units.

    In a whole number the last places may be noughts that only keep the others in place.
    """

    def __init__(self, text: str) -> None:
        found = NUMBER.match(text)
        assert found, text
        rest = text[found.end() :]
        assert rest == "" or rest[0] == SPACE
        self.symbol = rest.removeprefix(SPACE)
        self.whole = found["whole"].replace(SPACE, "")
        self.part = found["part"] or ""
        assert len(self.whole) == 1 or self.whole[0] != "0"
        self.power = int((found["power"] or "0").translate(POWERS))
        sign = -1 if found["sign"] else 1
        size = Fraction(SIZES[self.symbol]) * Fraction(10) ** self.power
        digits = self.whole + self.part
        self.shown = sign * Fraction(int(digits), 10 ** len(self.part))
        self.value = self.shown * size
        self.last = size / 10 ** len(self.part)
        self.significant = len(digits.lstrip("0"))


finite = st.floats(allow_nan=False, allow_infinity=False)
sizes = st.floats(min_value=1e-30, max_value=1e30)
units = st.sampled_from(UNITS)


@st.composite
def banded(draw, values=sizes):
    """A quantity within its band, which may be of no width."""
    value = draw(values)
    down, up = draw(st.floats(0, 0.9)), draw(st.floats(0, 3))
    narrow = 10.0 ** -draw(st.integers(0, 12))
    return Quantity(value, draw(units), value * (1 - down * narrow), value * (1 + up * narrow))


@st.composite
def around_nothing(draw):
    """What is less than its band is wide, or less than nothing."""
    value = draw(st.floats(-1e3, 1e3))
    half = draw(st.floats(1e-6, 1e6))
    return Quantity(value, draw(units), value - half, value + half)


quantities = st.one_of(
    around_nothing(),
    banded(),
    st.builds(Quantity, finite, units),
    st.builds(Quantity, sizes, units),
)


def exact(value) -> Fraction:
    """The number that is meant: the shortest decimal that reads back as this float."""
    return Fraction(Decimal(repr(value)))


def test_the_digits_are_those_of_the_measuring_rule():
    assert (LEAST_DIGITS, PLAIN_DIGITS, MOST_DIGITS) == (2, 3, 5)


@examples(500)
@given(quantities)
def test_what_is_shown_reads_back_within_half_of_its_last_digit(quantity):
    back, worth = Read(show(quantity)), last_digit(quantity)
    assert abs(back.value - exact(quantity.value)) <= worth / 2


@examples(500)
@given(quantities)
def test_the_last_digit_is_the_decade_of_the_half_width_between_two_digits_and_five(quantity):
    back, worth = Read(show(quantity)), last_digit(quantity)
    assume(back.value)
    # A fraction shows its digits, all of them; a whole number shows no other than noughts below.
    assert back.last == worth if back.part else back.last <= worth
    assert (back.value / worth).denominator == 1
    assert 10 ** (LEAST_DIGITS - 1) <= abs(back.value / worth) < 10**MOST_DIGITS


@examples(300)
@given(quantities)
def test_nothing_is_shown_that_is_not_a_number_to_a_reader(quantity):
    for text in (show(quantity), show_band(quantity), spoken(quantity)):
        assert not re.search(r"[0-9][eE][+-]?[0-9]|\binf|\bnan\b|[+]", text), text
        assert not re.search(rf"[-{MINUS}]\s?0(?:\.0+)?(?![.0-9])", text), text
        assert "-" not in text


@examples(500)
@given(banded())
def test_the_ends_of_a_band_are_shown_with_the_digits_and_the_unit_of_its_value(quantity):
    shown, ends = show(quantity), show_band(quantity)
    back = Read(shown)
    suffix = f"{SPACE}{back.symbol}" if back.symbol else ""
    assert ends.endswith(suffix)
    inner = ends.removesuffix(suffix)
    power = re.search(r"×10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+$", shown.removesuffix(suffix))
    if power:
        inner = inner.removesuffix(power[0])[1:-1]
    low, high = (Read(end + (power[0] if power else "") + suffix) for end in inner.split(DASH))
    assert low.last == high.last == back.last
    # Rounding keeps order, so the value shown never lies outside the band shown.
    assert low.value <= back.value <= high.value
    worth = last_digit(quantity)
    assert abs(low.value - exact(quantity.low)) <= worth / 2
    assert abs(high.value - exact(quantity.high)) <= worth / 2


@examples(300)
@given(units, finite, finite)
def test_a_greater_number_is_never_shown_as_a_smaller_one(unit, one, other):
    less, more = sorted((one, other))
    assert Read(show(Quantity(less, unit))).value <= Read(show(Quantity(more, unit))).value


@examples(300)
@given(quantities)
def test_a_negative_number_is_shown_as_its_positive_with_a_sign(quantity):
    assume(quantity.low is None)
    turned = Quantity(-quantity.value, quantity.unit)
    back, there = Read(show(turned)), Read(show(quantity))
    assert back.value == -there.value
    assert (back.symbol, back.last) == (there.symbol, there.last)


# Prefixes.


@st.composite
def at_an_edge(draw):
    """A value within some digits of a power of a thousand, above or below."""
    unit = draw(st.sampled_from(PREFIXED))
    power = draw(st.integers(-2, 0) if unit == "s" else st.integers(1, 3 if unit == "Hz" else 5))
    off = draw(st.floats(-0.002, 0.002)) * 10.0 ** -draw(st.integers(0, 4))
    value = 1000.0**power * (1 + off)
    half = draw(st.none() | st.floats(1e-6, 0.3))
    if half is None:
        return Quantity(value, unit)
    return Quantity(value, unit, value * (1 - half), value * (1 + half))


@examples(600)
@given(at_an_edge())
@example(Quantity(999.95e-6, "s"))
@example(Quantity(999.5e-6, "s"))
@example(Quantity(999.4999e-6, "s"))
@example(Quantity(999.95e-6, "s", 999.85e-6, 1000.05e-6))
@example(Quantity(999.95, "byte"))
@example(Quantity(999_950_000.0, "Hz", 999_940_000.0, 999_960_000.0))
def test_a_number_has_one_to_three_digits_before_its_point_once_rounded(quantity):
    back = Read(show(quantity))
    assert back.power == 0
    assert 1 <= back.shown < 1000


@pytest.mark.parametrize(
    ("value", "text"), [(999.95e-6, "1.00 ms"), (999.5e-6, "1.00 ms"), (999.4e-6, "999 µs")]
)
def test_rounding_up_to_a_thousand_moves_on_to_the_next_prefix(value, text):
    assert show(Quantity(value, "s")) == text.replace(" ", SPACE)


@examples(300)
@given(quantities)
def test_a_unit_is_too_large_or_too_small_only_at_the_ends_of_its_ladder(quantity):
    back = Read(show(quantity))
    symbols = {"s": ("ns", "s"), "byte": ("B", "PB"), "Hz": ("Hz", "GHz")}
    if quantity.unit in symbols and back.value and not isinstance(quantity.value, int):
        smallest, largest = symbols[quantity.unit]
        size = abs(back.value) / Fraction(SIZES[back.symbol])
        assert size >= 1 or back.symbol == smallest
        assert size < 1000 or back.symbol == largest


# Columns and axes.


@examples(300)
@given(st.sampled_from(PREFIXED), st.lists(st.none() | sizes, min_size=1, max_size=8))
def test_a_column_has_one_unit_and_every_cell_reads_back_in_it(unit, values):
    assume(any(value is not None for value in values))
    rows = [None if value is None else Quantity(value, unit) for value in values]
    found = column(rows)
    assert len(found.cells) == len(found.bands) == len(rows)
    for row, cell in zip(rows, found.cells, strict=True):
        if row is None:
            assert cell == ""
        else:
            back = Read(f"{cell}{SPACE}{found.unit}")
            assert abs(back.value - exact(row.value)) <= last_digit(row) / 2


@examples(200)
@given(st.sampled_from(PREFIXED), st.lists(sizes, min_size=1, max_size=8), st.randoms())
def test_the_unit_of_a_column_is_that_of_one_of_its_rows_in_whatever_order(unit, values, chance):
    rows = [Quantity(value, unit) for value in values]
    chosen = common_scale(rows)
    chance.shuffle(rows)
    assert common_scale(rows) == chosen
    assert chosen in [scale(row) for row in rows]
    # The unit of the middle row by size, and of two in the middle that of the smaller.
    factors = sorted(scale(row).factor for row in rows)
    assert chosen.factor == factors[(len(rows) - 1) // 2]


@examples(300)
@given(sizes, units)
def test_a_tick_says_its_value_to_six_digits_without_trailing_zeros(value, unit):
    text = tick(value, unit)
    back = Read(text)
    assert not back.part.endswith("0")
    assert math.isclose(back.value, exact(value), rel_tol=5.1e-6)


@examples(200)
@given(st.integers(-(10**18), 10**18))
def test_a_whole_number_in_its_own_unit_is_shown_in_full(value):
    back = Read(show(Quantity(value, "1")))
    assert back.value == value
    assert back.power == 0
