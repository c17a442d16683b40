"""Histograms know values within 1/256, counts exactly, and merge by adding."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.lab.load.histogram import Histogram, Recorder, bucket_of

values = st.lists(st.integers(1, 2**52), max_size=300)


def plainly(value: int) -> int:
    """The greatest value of a bucket, as the format defines it."""
    shift = max(0, value.bit_length() - 1 - 8)
    return ((value >> shift) << shift) + (1 << shift) - 1


def recorded(numbers: list[int], batch: int = 7) -> Histogram:
    recorder = Recorder()
    for start in range(0, len(numbers), batch):
        part = numbers[start : start + batch]
        if len(part) == 1:
            recorder.record(part[0])
        else:
            recorder.record_all(np.array(part, np.int64))
    return recorder.take() or Histogram()


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 2**52))
def test_a_bucket_is_named_by_its_greatest_value_and_is_narrow(value: int) -> None:
    bucket = int(bucket_of(np.array([value]))[0])
    assert bucket == plainly(value)
    assert 0 <= bucket - value < max(1, value / 256)


@settings(max_examples=50, deadline=None)
@given(values, st.integers(1, 400))
def test_what_is_recorded_in_batches_of_any_size_is_counted_exactly(numbers: list[int], batch: int) -> None:
    histogram = recorded(numbers, batch)
    assert histogram.count == sum(histogram.counts.values()) == len(numbers)
    if numbers:
        assert (histogram.min_ns, histogram.max_ns, histogram.sum_ns) == (min(numbers), max(numbers), sum(numbers))
        assert np.isclose(histogram.sum_squares, sum(float(number) ** 2 for number in numbers))
        assert set(histogram.counts) == {plainly(number) for number in numbers}
        assert list(histogram.counts) == sorted(histogram.counts)


@settings(max_examples=50, deadline=None)
@given(values, values)
def test_merging_is_adding(one: list[int], other: list[int]) -> None:
    both, merged = recorded(one + other), recorded(one) + recorded(other)
    assert merged.counts == both.counts
    assert (merged.count, merged.min_ns, merged.max_ns, merged.sum_ns) == (
        both.count,
        both.min_ns,
        both.max_ns,
        both.sum_ns,
    )
    assert np.isclose(merged.sum_squares, both.sum_squares)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 2**40), min_size=1, max_size=300), st.floats(0.1, 100))
def test_percentiles_are_those_of_the_values_within_a_bucket(numbers: list[int], percent: float) -> None:
    rank = max(1, int(-(-len(numbers) * percent // 100)))
    exact = sorted(numbers)[rank - 1]
    assert 0 <= recorded(numbers).percentile(percent) - exact < max(1, exact / 256)


def test_more_values_than_are_gathered_at_once_are_all_there() -> None:
    numbers = np.arange(1, 100_001)
    recorder = Recorder()
    recorder.record_all(numbers)
    recorder.record(5)
    histogram = recorder.take()
    assert histogram is not None
    assert (histogram.count, histogram.sum_ns) == (100_001, int(numbers.sum()) + 5)
    assert recorder.take() is None
