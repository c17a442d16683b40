"""Progress of a load while it runs: one line that rewrites itself on a terminal, and statistics on request."""

import sys
import threading
from collections.abc import Iterable
from typing import TextIO

from heliograph.common.terminal import steer, visible
from heliograph.errors import InvalidInput, Problem
from heliograph.lab.load import Histogram, Interval
from heliograph.lab.trials import RecordedControl

_HELP = "commands: rate=N (messages per second), stop, Enter for statistics"


class Progress:
    """Shows each second of a run on a terminal; elsewhere, nothing but answers to commands."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._title = ""
        self._second: int | None = None
        self._parts: list[Interval] = []
        self._last = "nothing yet"

    def begin(self, title: str) -> None:
        """Another run."""
        self._title, self._second, self._parts = title, None, []
        self._last = f"{title}: nothing yet"
        self._show(f"{title}: starting")

    def on_interval(self, interval: Interval) -> None:
        """Another second of a group in a process."""
        if self._second is not None and interval.second > self._second:
            self._last = f"{self._title}: {summary(self._second, self._parts)}"
            self._show(self._last)
            self._parts = []
        if self._second is None or interval.second >= self._second:
            self._second = interval.second
            self._parts.append(interval)

    def statistics(self) -> str:
        """The last whole second."""
        return self._last

    def tell(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        print(text, file=self._stream, flush=True)

    def clear(self) -> None:
        """Make room for something else."""
        self._show("")

    def _show(self, text: str) -> None:
        if self._live:
            steer(self._stream, f"\r\x1b[K{visible(text)}")


def summary(second: int, parts: Iterable[Interval]) -> str:
    """One second in words."""
    parts = list(parts)
    latencies = _merged(parts)
    words = ["warm-up" if second < 0 else f"{second + 1} s"]
    words.append(f"in {sum(one.sent for one in parts):,}/s, out {sum(one.received for one in parts):,}/s")
    if latencies is not None and latencies.count:
        average, high = latencies.sum_ns / latencies.count / 1e6, latencies.percentile(99) / 1e6
        words.append(f"latency {average:.3g} ms, 99P {high:.3g} ms")
    words.append(f"lost {sum(one.lost for one in parts):,}, connected {sum(one.connected for one in parts):,}")
    return ", ".join(words)


def _merged(parts: list[Interval]) -> Histogram | None:
    for kind in ("message", "round_trip", "connect"):
        found = [one.latencies[kind] for one in parts if kind in one.latencies]
        if found:
            total = found[0]
            for one in found[1:]:
                total += one
            return total
    return None


class Console:
    """Takes commands from the keyboard while loads run."""

    def __init__(self, progress: Progress, lines: Iterable[str] = sys.stdin) -> None:
        self._progress = progress
        self._lines = lines
        self._control: RecordedControl | None = None
        self.stopped = False
        """Whether the user has asked to stop."""
        threading.Thread(target=self._listen, name="console", daemon=True).start()

    def make_control(self) -> RecordedControl:
        """For the next run."""
        self._control = RecordedControl()
        return self._control

    def _listen(self) -> None:
        for line in self._lines:
            try:
                self.obey(line.strip())
            except Problem as problem:
                self._progress.tell(str(problem))

    def obey(self, command: str) -> None:
        """Do what a line says."""
        if not command:
            self._progress.tell(self._progress.statistics())
        elif command == "stop":
            self.stopped = True
            if self._control is not None:
                self._control.stop()
        elif command.startswith("rate="):
            rate = _number(command.removeprefix("rate="))
            if self._control is None:
                raise InvalidInput("no load runs yet")
            self._control.set_rate(rate)
        else:
            raise InvalidInput(_HELP)


def _number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise InvalidInput(f"expected rate=NUMBER, found rate={text}") from None
