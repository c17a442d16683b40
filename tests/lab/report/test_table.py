"""Numbers are short for people."""

import math

import pytest

from heliograph.lab.report.table import NOTHING, duration, octets, plain, short, text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (65, "65"),
        (999.4, "999"),
        (1000, "1 K"),
        (162_000, "162 K"),
        (999_499, "999 K"),
        (999_600, "1 M"),
        (16_200_000, "16.2 M"),
        (1_234, "1.23 K"),
        (-5_200, "-5.2 K"),
    ],
)
def test_large_numbers_have_three_digits_and_a_letter(value: float, written: str) -> None:
    assert short(value) == written


@pytest.mark.parametrize(
    ("milliseconds", "written"),
    [(0, "0"), (0.000_25, "250 ns"), (0.084, "84 µs"), (0.9996, "1 ms"), (1.234, "1.23 ms"), (65_000, "65 s")],
)
def test_times_have_the_unit_that_suits_them(milliseconds: float, written: str) -> None:
    assert duration(milliseconds) == written


def test_small_numbers_keep_three_digits() -> None:
    assert [plain(value) for value in (99.26, 0.001234, 12.0, 99.96)] == ["99.3", "0.00123", "12", "100"]


def test_sizes_count_in_1024() -> None:
    assert [octets(value) for value in (32, 2048, 1536 << 20)] == ["32 B", "2 KB", "1.5 GB"]


@pytest.mark.parametrize("kind", ["rate", "ms", "text"])
@pytest.mark.parametrize("value", [None, math.nan])
def test_what_was_not_measured_is_a_dash_and_never_a_zero(kind: str, value: float | None) -> None:
    assert text(value, kind) == NOTHING
