"""Scales of axes: where a value stands between two ends, and which values get a line."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """From values to places. A logarithmic scale has positive values only."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Where this value stands."""
        if self.logarithmic:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int) -> list[float]:
        """Round values between the ends, `most` of them at most."""
        return _powers(self.low, self.high, most) if self.logarithmic else _steps(self.low, self.high, most)


def scale_for(values: list[float], start: float, end: float, *, logarithmic: bool, most: int) -> Scale:
    """A scale with all these values on it, and round ends."""
    if logarithmic:
        positive = [value for value in values if value > 0] or [1.0]
        low, high = _around(min(positive), down=True), _around(max(positive), down=False)
        return Scale(low, high if high > low else low * 10, start, end, logarithmic=True)
    top, bottom = max([0.0, *values]), min([0.0, *values])
    step = _step((top - bottom) or 1.0, most)
    low, high = math.floor(bottom / step) * step, math.ceil(top / step - 1e-9) * step
    return Scale(low, high if high > low else low + step, start, end)


def span_for(values: list[float], start: float, end: float, *, logarithmic: bool) -> Scale:
    """A scale from the least to the greatest value as they are, for an axis that need not begin at zero."""
    kept = [value for value in values if value > 0] if logarithmic else values
    low, high = min(kept, default=1.0), max(kept, default=2.0)
    if low == high:
        low, high = (low / 2, high * 2) if logarithmic else (low - 0.5, high + 0.5)
    return Scale(low, high, start, end, logarithmic)


def _around(value: float, *, down: bool) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    steps = [power * factor for factor in (1, 2, 5, 10)]
    if down:
        return max(step for step in steps if step <= value * 1.000001)
    return min(step for step in steps if step >= value * 0.999999)


def _step(width: float, most: int) -> float:
    raw = width / most
    power = 10.0 ** math.floor(math.log10(raw))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999999)


def _steps(low: float, high: float, most: int) -> list[float]:
    step = _step(high - low, most)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float, most: int) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [
            10.0**power * factor
            for power in range(first, last + 1)
            for factor in factors
            if low * 0.999999 <= 10.0**power * factor <= high * 1.000001
        ]
        if len(found) <= most:
            return found
    return found[:: math.ceil(len(found) / most)]
