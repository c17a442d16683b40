"""Student's t: how many standard errors an interval is wide, for a mean of few values."""

import math
from statistics import NormalDist


def quantile(probability: float, freedom: float) -> float:
    """The value that a t of so many degrees of freedom does not exceed with this probability, above one half."""
    low, high = 0.0, 1.0
    while _below(high, freedom) < probability:
        high *= 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def table(confidence: float, most: int) -> list[float]:
    """Half the width of an interval in standard errors, for 1 to `most` degrees of freedom, then for endless ones."""
    probability = (1 + confidence) / 2
    return [quantile(probability, freedom) for freedom in range(1, most + 1)] + [NormalDist().inv_cdf(probability)]


def _below(value: float, freedom: float) -> float:
    """The probability of less, for whole degrees of freedom: Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(value / math.sqrt(freedom))
    cosine = math.cos(angle) ** 2
    odd = int(freedom) % 2
    term = math.cos(angle) if odd else 1.0
    total = term if int(freedom) > 1 else 0.0
    for step in range(3 if odd else 2, int(freedom) - 1, 2):
        term *= cosine * (step - 1) / step
        total += term
    two_sided = 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return (1 + two_sided) / 2
