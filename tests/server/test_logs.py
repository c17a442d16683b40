"""What a log line looks like, and how a flood of them is held back."""

import json
import logging
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.server.config.schema import LogFormat, LogLevel
from heliograph.server.logs import JsonFormatter, RepeatedWarnings, TextFormatter, configure_logging

log = logging.getLogger("heliograph.test")


@pytest.fixture(autouse=True)
def _root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def record(message: str = "hello", **fields: object) -> logging.LogRecord:
    return log.makeRecord(log.name, logging.INFO, "file", 1, message, (), None, extra=fields)


def test_a_text_line_has_time_level_logger_message_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogLevel.INFO, LogFormat.TEXT)
    log.info("client connected", extra={"client": "meter-1", "listener": "tcp:[::1]:1883", "note": "two words"})
    when, rest = capsys.readouterr().err.split(" ", 1)
    assert len(when) == len("2026-01-01T00:00:00.000Z")
    assert rest == (
        'INFO    heliograph.test client connected client=meter-1 listener=tcp:[::1]:1883 note="two words"\n'
    )


def test_a_json_line_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogLevel.INFO, LogFormat.JSON)
    log.warning("refused %d", 3, extra={"client": "a\nb", "count": 4})
    entry = json.loads(capsys.readouterr().err)
    assert entry.pop("time").endswith("Z")
    assert entry == {
        "level": "warning",
        "logger": "heliograph.test",
        "message": "refused 3",
        "client": "a\nb",
        "count": 4,
    }


@given(st.text(), st.text())
def test_whatever_a_client_sends_a_text_line_stays_one_line(message: str, value: str) -> None:
    line = TextFormatter().format(record(message, client=value))
    assert line.isprintable()


@given(st.text(), st.text())
def test_whatever_a_client_sends_a_json_line_stays_one_line(message: str, value: str) -> None:
    line = JsonFormatter().format(record(message, client=value))
    assert line.isprintable()
    assert json.loads(line)["client"] == value


def test_a_field_cannot_pass_for_another() -> None:
    assert TextFormatter().format(record(client="x listener=y")).endswith(' client="x listener=y"')


def test_a_field_cannot_hide_what_every_line_has() -> None:
    entry = json.loads(JsonFormatter().format(record(level="mine")))
    assert (entry["level"], entry["level_"]) == ("info", "mine")


def test_a_traceback_follows_a_text_line_and_is_a_field_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        try:
            raise ValueError("boom")
        except ValueError:
            log.exception("failed")

    configure_logging(LogLevel.INFO, LogFormat.TEXT)
    fail()
    assert capsys.readouterr().err.rstrip().endswith("ValueError: boom")
    configure_logging(LogLevel.INFO, LogFormat.JSON)
    fail()
    assert json.loads(capsys.readouterr().err)["exception"].endswith("ValueError: boom")


def test_configuring_again_changes_level_and_format_and_repeats_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogLevel.DEBUG, LogFormat.TEXT)
    configure_logging(LogLevel.ERROR, LogFormat.JSON)
    log.warning("not this")
    log.error("but this")
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["message"] == "but this"


def test_of_repeated_warnings_one_a_second_is_logged_with_the_number_left_out(caplog: pytest.LogCaptureFixture) -> None:
    now = 100.0
    warnings = RepeatedWarnings(log, clock=lambda: now)
    for _ in range(3):
        warnings.warning("full", "too many connections", listener="tcp")
    warnings.warning("other", "something else")
    now = 101.0
    warnings.warning("full", "too many connections", listener="tcp")
    now = 102.0
    warnings.warning("full", "too many connections", listener="tcp")
    logged = [(entry.getMessage(), entry.__dict__.get("suppressed")) for entry in caplog.records]
    assert logged == [
        ("too many connections", None),
        ("something else", None),
        ("too many connections", 2),
        ("too many connections", None),
    ]
