"""How long messages take, noted run by run: a clock per message would cost more than the message."""

import time
from collections import deque
from typing import NamedTuple

AVERAGE, PERCENTILE = "ms on average", "ms 99P"


class Sample(NamedTuple):
    """Messages that were sent together and arrived together."""

    sent: float
    seconds: float
    messages: int


class Timing:
    """The messages of one sender, numbered from 0 and noted in order."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._under_way: deque[tuple[int, float]] = deque()  # the number behind each run, and when it was sent

    def sent(self, end: int) -> None:
        """All messages before this number have been sent by now."""
        self._under_way.append((end, time.perf_counter()))

    def arrived(self, first: int, end: int) -> None:
        """The messages from `first` to before `end` have just arrived."""
        now, runs = time.perf_counter(), self._under_way
        while runs and first < end:
            behind, sent = runs[0]
            upto = min(end, behind)
            if upto > first:
                self.samples.append(Sample(sent, now - sent, upto - first))
                first = upto
            if behind <= upto:
                runs.popleft()


def milliseconds(timings: list[Timing], since: float) -> dict[str, float]:
    """Average and 99th percentile over all messages sent after `since`."""
    samples = sorted((sample for timing in timings for sample in timing.samples if sample.sent >= since), key=_seconds)
    total = sum(sample.messages for sample in samples)
    if not total:
        return {}
    average = sum(sample.seconds * sample.messages for sample in samples) / total
    left = total * 99 // 100
    for sample in samples:
        left -= sample.messages
        if left < 0:
            break
    return {AVERAGE: average * 1e3, PERCENTILE: sample.seconds * 1e3}


def _seconds(sample: Sample) -> float:
    return sample.seconds
