"""How a quantity is written: digits from its band, one unit, honest rounding."""

import math
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from writeup.quantity import (
    DASH,
    MINUS,
    SPACE,
    Quantity,
    column,
    common_scale,
    scale,
    show,
    show_band,
    spoken,
    spoken_band,
    tick,
    to_base,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


def plain(text):
    """As typed in this file: ordinary spaces, dashes and minus signs."""
    return text.replace(SPACE, " ").replace(DASH, "-").replace(MINUS, "~")


@pytest.mark.parametrize(
    ("quantity", "shown", "band"),
    [
        (Quantity(0.00101, "s"), "1.01 ms", ""),
        (Quantity(0.001012, "s", 0.001, 0.00102), "1.01 ms", "1.00-1.02 ms"),
        (Quantity(0.00101234, "s", 0.001012, 0.001013), "1.0123 ms", "1.0120-1.0130 ms"),
        (Quantity(0.0010123421, "s", 0.00101234, 0.00101235), "1.0123 ms", "1.0123-1.0124 ms"),
        (Quantity(1.0, "s", 0.1, 10.0), "1.0 s", "0.1-10.0 s"),
        (Quantity(123e-6, "s", 100e-6, 140e-6), "120 µs", "100-140 µs"),
        # No band beside a band of no width, which is as exact as digits go.
        (Quantity(1.5, "s", 1.5, 1.5), "1.5000 s", "1.5000-1.5000 s"),
        # Rounding decides about the prefix.
        (Quantity(999.6e-6, "s"), "1.00 ms", ""),
        (Quantity(999.4e-6, "s"), "999 µs", ""),
        (Quantity(999.6e-6, "s", 990e-6, 1010e-6), "1.00 ms", "0.99-1.01 ms"),
        (Quantity(999.6e-6, "s", 995e-6, 1004e-6), "1.000 ms", "0.995-1.004 ms"),
        (Quantity(0.9996, "1", 0.99, 1.01), "1.00", "0.99-1.01"),
        (Quantity(5e-9, "s"), "5.00 ns", ""),
        (Quantity(2.5e-10, "s"), "0.250 ns", ""),
        (Quantity(1234.0, "s"), "1230 s", ""),
        # Rates and counts.
        (Quantity(4.3e12, "byte/s", 4.29e12, 4.31e12), "4.30 TB/s", "4.29-4.31 TB/s"),
        (Quantity(7.98e14, "flop/s"), "798 TFLOP/s", ""),
        (Quantity(2.5e9, "flop"), "2.50 GFLOP", ""),
        (Quantity(0.625, "flop/byte"), "0.625 FLOP/byte", ""),
        (Quantity(232448, "byte"), "232 kB", ""),
        (Quantity(776, "byte"), "776 B", ""),
        (Quantity(0, "byte"), "0 B", ""),
        (Quantity(255, "1"), "255", ""),
        (Quantity(4096, "1"), "4096", ""),
        (Quantity(12345, "1"), "12 345", ""),
        (Quantity(1234567, "1"), "1 234 567", ""),
        (Quantity(700, "W"), "700 W", ""),
        (Quantity(1980, "MHz"), "1.98 GHz", ""),
        (Quantity(61, "degC"), "61 °C", ""),
        (Quantity(12345.6, "token/s"), "12 300 token/s", ""),
        (Quantity(3.5, "furlong"), "3.50 furlong", ""),
        # Ratios.
        (Quantity(1.0412, "1", 1.03, 1.05), "1.04", "1.03-1.05"),
        (Quantity(1.0412, "×", 1.03, 1.05), "1.04 ×", "1.03-1.05 ×"),
        (Quantity(0.973, "%"), "97.3 %", ""),
        (Quantity(0.973, "%", 0.96, 0.98), "97 %", "96-98 %"),
        (Quantity(0.9999, "%"), "100 %", ""),
        (Quantity(0.01, "%"), "1.00 %", ""),
        (Quantity(12345.6, "×"), "12 300 ×", ""),
        # Small, huge, nothing, negative.
        (Quantity(2.3e-7, "1"), "2.30×10⁻⁷", ""),
        (Quantity(2.3e-7, "1", 2.2e-7, 2.4e-7), "2.3×10⁻⁷", "(2.2-2.4)×10⁻⁷"),
        (Quantity(0.00123, "1"), "0.00123", ""),
        (Quantity(1e300, "s"), "1.00×10³⁰⁰ s", ""),
        (Quantity(10**20, "1"), "100 000 000 000 000 000 000", ""),
        (Quantity(0.0, "s"), "0 s", ""),
        (Quantity(0.0, "s", -1e-3, 1e-3), "0.0 ms", "~1.0 to 1.0 ms"),
        (Quantity(-1.01e-3, "s", -1.02e-3, -1e-3), "~1.01 ms", "~1.02 to ~1.00 ms"),
        (Quantity(-12345, "1"), "~12 345", ""),
    ],
)
def test_a_quantity_is_written_so(quantity, shown, band):
    assert plain(show(quantity)) == shown
    assert plain(show_band(quantity)) == band


@pytest.mark.parametrize(
    ("quantity", "unit", "shown"),
    [
        (Quantity(2**28, "byte"), "GiB", "0.250 GiB"),
        (Quantity(2**28, "byte"), "MiB", "256 MiB"),
        (Quantity(232448, "byte"), "B", "232 448 B"),
        (Quantity(0.973, "1"), "%", "97.3 %"),
        (Quantity(1.04, "1"), "×", "1.04 ×"),
        (Quantity(1.04, "×"), "", "1.04"),
        (Quantity(0.00101, "s"), "µs", "1010 µs"),
        (Quantity(1.5, "s", 1.45, 1.55), "ms", "1500 ms"),
    ],
)
def test_a_unit_may_be_asked_for(quantity, unit, shown):
    assert plain(show(quantity, unit)) == shown


def test_bytes_come_in_powers_of_ten_unless_asked():
    assert plain(show(Quantity(2**30, "byte"))) == "1.07 GB"


@pytest.mark.parametrize("unit", ["GB", "×", "parsec"])
def test_a_time_cannot_be_shown_in_another_dimension(unit):
    with pytest.raises(ValueError, match="cannot be shown"):
        show(Quantity(1.0, "s"), unit)


@pytest.mark.parametrize(
    "arguments",
    [
        (math.nan, "s"),
        (math.inf, "s"),
        (10**400, "1"),
        (1.0, "s", None, 2.0),
        (1.0, "s", 1.0, None),
        (1.0, "s", 2.0, 1.0),
        (1.0, "s", 0.0, math.inf),
    ],
)
def test_what_is_no_quantity_is_refused(arguments):
    with pytest.raises(ValueError, match=r"finite|band"):
        Quantity(*arguments)


def test_value_and_unit_are_held_together_by_a_narrow_space():
    assert show(Quantity(0.00101, "s")) == "1.01\u202fms"
    assert show(Quantity(12345, "1")) == "12\u202f345"
    assert show_band(Quantity(1.0, "s", 0.9, 1.1)) == "0.9\u20131.1\u202fs"


def number(text):
    """The value of a shown number without its unit."""
    text = plain(text).replace("~", "-")
    found = re.fullmatch(r"(-?[\d ]+(?:\.\d+)?)(?:×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?", text)
    power = (found[2] or "0").translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-"))
    return Decimal(found[1].replace(" ", "")).scaleb(int(power))


def shown_value(quantity):
    """The value of the text in base units, read back."""
    chosen = scale(quantity)
    return number(column([quantity], chosen).cells[0]) * chosen.factor


@given(finite, st.sampled_from(["s", "byte", "flop/s", "1", "%", "Hz", "furlong"]))
def test_three_digits_are_within_half_of_the_last(value, unit):
    back = shown_value(Quantity(value, unit))
    if value:
        assert abs(back - Decimal(repr(value))) <= abs(Decimal(repr(value))) / 199
    else:
        assert back == 0


@given(finite, st.floats(min_value=0, max_value=1e300))
def test_two_to_five_digits_are_shown_whatever_the_band(value, half_width):
    low, high = value - half_width, value + half_width
    if math.isinf(low) or math.isinf(high):
        return
    quantity = Quantity(value, "1", low, high)
    back = shown_value(quantity)
    assert abs(back - Decimal(repr(value))) <= abs(Decimal(repr(value))) / 19
    if value:
        digits = re.sub(r"×10.*|[^0-9]", "", plain(show(quantity))).lstrip("0")
        assert 1 <= len(digits.rstrip("0")) <= 5


@given(st.floats(min_value=1e-8, max_value=1e3), st.floats(min_value=1e-4, max_value=0.5))
def test_the_last_digit_is_the_decade_of_the_half_width(value, share):
    quantity = Quantity(value, "s", value * (1 - share), value * (1 + share))
    half_width = (quantity.high - quantity.low) / 2
    off = abs(shown_value(quantity) - Decimal(repr(value)))
    assert float(off) <= 0.51 * 10 ** math.floor(math.log10(half_width) + 1e-9)


@given(finite, st.floats(0, 1))
def test_whatever_is_shown_has_a_spoken_form_without_signs(value, share):
    quantity = Quantity(value, "s", *sorted((value, value * share)))
    for text in (spoken(quantity), spoken_band(quantity)):
        assert re.fullmatch(r"[a-z0-9. ]+ (?:nano|micro|milli)?seconds", text)


@pytest.mark.parametrize(
    ("quantity", "said"),
    [
        (Quantity(0.00101, "s"), "1.01 milliseconds"),
        (Quantity(12345, "1"), "12345"),
        (Quantity(0.973, "%"), "97.3 percent"),
        (Quantity(1.04, "×"), "1.04 times"),
        (Quantity(7.98e14, "flop/s"), "798 teraflop per second"),
        (Quantity(4.3e12, "byte/s"), "4.30 terabytes per second"),
        (Quantity(-2.3e-7, "1"), "minus 2.30 times 10 to the power of minus 7"),
        (Quantity(3.5, "furlong"), "3.50 furlong"),
    ],
)
def test_accessible_names_are_read_out_so(quantity, said):
    assert spoken(quantity) == said


def test_a_band_is_read_out_from_end_to_end():
    assert spoken_band(Quantity(0.001012, "s", 0.001, 0.00102)) == "1.00 to 1.02 milliseconds"
    assert spoken_band(Quantity(1.0, "s")) == ""


def test_a_column_has_one_unit():
    found = column(
        [Quantity(1e-3, "s", 0.99e-3, 1.01e-3), None, Quantity(5e-6, "s"), Quantity(2e-3, "s")]
    )
    assert found.unit == "ms"
    assert found.cells == ("1.00", "", "0.00500", "2.00")
    assert found.bands == (f"0.99{DASH}1.01", "", "", "")


def test_a_column_may_be_told_its_unit():
    assert column([Quantity(0.5, "1")], "%").cells == ("50.0",)
    assert column([Quantity(2**30, "byte"), Quantity(2**29, "byte")], "GiB").unit == "GiB"


def test_a_column_of_nothing_has_no_unit():
    assert column([None, None]).unit == ""
    assert column([None, None]).cells == ("", "")


def test_a_column_of_two_dimensions_is_refused():
    with pytest.raises(ValueError, match="share a unit"):
        column([Quantity(1.0, "s"), Quantity(1.0, "byte")])


def test_nothing_does_not_choose_the_unit_of_a_column():
    found = common_scale([Quantity(0.0, "s"), Quantity(0.0, "s"), Quantity(3e-6, "s")])
    assert found.symbol == "µs"
    assert common_scale([Quantity(0.0, "s")]).symbol == "s"


def test_different_units_of_one_dimension_share_a_column():
    found = column([Quantity(1500, "us"), Quantity(2, "ms")])
    assert (found.unit, found.cells) == ("ms", ("1.50", "2.00"))


@pytest.mark.parametrize(
    ("value", "unit", "label"),
    [
        (1e-5, "s", "10 µs"),
        (5e-4, "s", "500 µs"),
        (1e14, "flop/s", "100 TFLOP/s"),
        (0.30000000000000004, "1", "0.3"),
        (1.0, "×", "1 ×"),
        (0.5, "%", "50 %"),
        (1e-9, "1", "1×10⁻⁹"),
        (100000.0, "1", "100 000"),
        (0.0, "s", "0 s"),
        (-0.25, "1", "~0.25"),
    ],
)
def test_ticks_have_no_trailing_zeros(value, unit, label):
    assert plain(tick(value, unit)) == label


def test_ticks_of_one_axis_share_a_unit_that_its_title_names():
    axis = common_scale([Quantity(1e-3, "s")])
    assert [tick(v, "s", axis) for v in (1e-5, 1e-3, 0.1)] == ["0.01", "1", "100"]


def test_base_units_are_reached_with_a_single_rounding():
    assert to_base(1010, "ns") == (1010 / 10**9, "s")
    assert to_base(1.5, "ms") == (0.0015, "s")
    assert to_base(1980, "MHz") == (1980000000, "Hz")
    assert to_base(3, "token") == (3, "token")


def test_a_quantity_in_base_units_keeps_its_band():
    assert Quantity(1500, "us", 1000, 2000).base == Quantity(0.0015, "s", 0.001, 0.002)
    assert Quantity(3, "byte").base == Quantity(3, "byte")
