"""The log of the process: lines for people or JSON for machines, on standard error.

Modules log with `logging` as usual and give the particulars as fields, so that they can be searched for:
`log.info("client connected", extra={"client": name, "listener": listener.name})`.
"""

import json
import logging
import re
import sys
import time
from collections.abc import Callable

from heliograph.server.config.schema import LogFormat, LogLevel

_HANDLER = "heliograph"
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_PLAIN = re.compile(r"[^\s\"=\\]+")


def configure_logging(level: LogLevel, format: LogFormat, queue_manager: str | None = None) -> None:  # noqa: A002 - a key
    """Log from this level up, in this format; may be called again to change either.

    All lines of a queue manager say so: it shares the standard error of the server that started it.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.set_name(_HANDLER)
    if queue_manager is not None:
        handler.addFilter(_marking(queue_manager))
    handler.setFormatter(JsonFormatter() if format is LogFormat.JSON else TextFormatter())
    root = logging.getLogger()
    for old in [old for old in root.handlers if old.name == _HANDLER]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())


def _marking(queue_manager: str) -> Callable[[logging.LogRecord], bool]:
    def mark(record: logging.LogRecord) -> bool:
        record.queue_manager = queue_manager
        return True

    return mark


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """What was given as `extra`: `logging` mixes it with its own attributes."""
    return {key: value for key, value in record.__dict__.items() if key not in _STANDARD}


def _time(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03}Z"


class TextFormatter(logging.Formatter):
    """`time level logger message key=value ...`; whatever a client sent, it stays on its line."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, with a traceback below it if there is one."""
        fields = "".join(f" {key}={_value(value)}" for key, value in _fields(record).items())
        line = f"{_time(record)} {record.levelname:7} {record.name} {_one_line(record.getMessage())}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _value(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text.isprintable() else json.dumps(text)


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message, then the fields; a traceback is `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        entry: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        # A field of the same name as one of ours must not hide it.
        entry |= {f"{key}_" if key in entry else key: value for key, value in _fields(record).items()}
        return json.dumps(entry, default=str)


class RepeatedWarnings:
    """Warnings that a flood of connections would repeat: of each kind at most one per interval is logged.

    The next one that is logged has a field `suppressed` with the number that were not.
    """

    def __init__(self, log: logging.Logger, interval: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        """Warn through `log`, at most once per `interval` seconds for each key."""
        self._log = log
        self._interval = interval
        self._clock = clock
        self._quiet_until: dict[str, float] = {}
        self._suppressed: dict[str, int] = {}

    def warning(self, key: str, message: str, **fields: object) -> None:
        """Log a warning, or count it. The key is the kind of warning, one of a few: never a client's name."""
        now = self._clock()
        if now < self._quiet_until.get(key, now):
            self._suppressed[key] = self._suppressed.get(key, 0) + 1
            return
        self._quiet_until[key] = now + self._interval
        if count := self._suppressed.pop(key, 0):
            fields["suppressed"] = count
        self._log.warning(message, extra=fields)
