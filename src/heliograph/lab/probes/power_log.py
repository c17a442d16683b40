"""The log of a power distribution unit, as a table with a line for each minute or so.

Columns are found by the words in their headings: a date, a time, and watts; there may be volts, amperes, power factor
and kilowatt hours, too. A machine with two power supplies has two logs, which are added.
"""

import csv
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from heliograph.lab.errors import InvalidResults
from heliograph.lab.probes.probe import Sample

_DATES = ("%m/%d/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S")


@dataclass(frozen=True)
class PowerLog:
    """What one supply drew: moments (seconds since 1970) and watts, in order."""

    name: str
    times: tuple[float, ...]
    watts: tuple[float, ...]

    def between(self, start: float, end: float) -> list[tuple[float, float]]:
        """The readings in this time; the two around it if there is none in it, and nothing outside of the log."""
        if not self.times or end < self.times[0] or start > self.times[-1]:
            return []
        low, high = bisect_left(self.times, start), bisect_right(self.times, end)
        if low == high:  # a run that is shorter than the log's interval
            low, high = max(0, low - 1), high + 1
        return list(zip(self.times[low:high], self.watts[low:high], strict=True))

    def at(self, moment: float) -> float:
        """Watts at this moment: the nearest reading."""
        after = bisect_left(self.times, moment)
        near = [n for n in (after - 1, after) if 0 <= n < len(self.times)]
        return self.watts[min(near, key=lambda n: abs(self.times[n] - moment))]


def read_power_log(path: Path) -> PowerLog:
    """Read one supply's log; times without a zone are this machine's local time."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InvalidResults(f"{path}: cannot be read: {error.strerror}") from None
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    lines = list(csv.reader(text.splitlines(), delimiter=delimiter))
    head, columns = _heading(path, lines)
    readings = []
    for number, line in enumerate(lines[head + 1 :], head + 2):
        if any(cell.strip() for cell in line) and not line[columns[0]].startswith("("):  # units, below headings
            readings.append(_reading(path, number, line, columns))
    readings.sort()
    if not readings:
        raise InvalidResults(f"{path}: expected readings below the headings, found none")
    return PowerLog(path.stem, tuple(at for at, _ in readings), tuple(watts for _, watts in readings))


def _heading(path: Path, lines: Sequence[Sequence[str]]) -> tuple[int, tuple[int, int, int]]:
    """The line of headings, and where date, time and watts are."""
    for number, line in enumerate(lines):
        words = [cell.strip().lower() for cell in line]
        date = [n for n, word in enumerate(words) if "date" in word]
        clock = [n for n, word in enumerate(words) if "time" in word]
        watts = [n for n, word in enumerate(words) if "watts" in word and "hour" not in word and "kilo" not in word]
        if date and clock and watts:
            return number, (date[0], clock[0], watts[0])
    raise InvalidResults(
        f"{path}: expected headings with a date, a time and watts (Log Date, Log Time, Watts), found none"
    )


def _reading(path: Path, number: int, line: Sequence[str], columns: tuple[int, int, int]) -> tuple[float, float]:
    try:
        date, clock, watts = (line[column].strip() for column in columns)
        return _moment(f"{date} {clock}"), float(watts)
    except (IndexError, ValueError):
        raise InvalidResults(
            f"{path}, line {number}: expected a date as mm/dd/yyyy, a time as hh:mm:ss and watts, found {line}"
        ) from None


def _moment(text: str) -> float:
    for form in _DATES:
        try:
            return datetime.strptime(text, form).astimezone(UTC).timestamp()
        except ValueError:
            continue
    raise ValueError(text)


def power_samples(logs: Sequence[PowerLog], start: float, seconds: float) -> list[Sample]:
    """Watts of all supplies together while a run was measured; none if a log does not cover it."""
    if not logs or any(not log.between(start, start + seconds) for log in logs):
        return []
    times = sorted({at for log in logs for at, _ in log.between(start, start + seconds)})
    return [Sample(at - start, "power", "supplies", "watts", sum(log.at(at) for log in logs)) for at in times]
