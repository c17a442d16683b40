"""What systemd hears from the server."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.server import systemd as notify


@pytest.fixture(params=["file", "abstract"])
def systemd(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The end of the notification socket that systemd holds."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(5)
        if request.param == "file":
            name = str(tmp_path / "notify")
            receiver.bind(name)
        else:
            receiver.bind(f"\0heliograph-test-{os.getpid()}")
            name = f"@heliograph-test-{os.getpid()}"
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        yield receiver


def heard(systemd: socket.socket) -> list[str]:
    return systemd.recv(4096).decode().split("\n")


def test_each_state_has_its_message(systemd: socket.socket) -> None:
    for call, message in (
        (notify.ready, "READY=1"),
        (notify.stopping, "STOPPING=1"),
        (notify.watchdog, "WATCHDOG=1"),
    ):
        call()
        assert heard(systemd) == [message]


def test_several_assignments_go_in_one_message(systemd: socket.socket) -> None:
    assert notify.notify("READY=1", "STATUS=up")
    assert heard(systemd) == ["READY=1", "STATUS=up"]


def test_a_reload_carries_the_time_it_began(systemd: socket.socket) -> None:
    before = time.monotonic_ns() // 1000
    notify.reloading()
    state, began = heard(systemd)
    assert state == "RELOADING=1"
    assert before <= int(began.removeprefix("MONOTONIC_USEC=")) <= time.monotonic_ns() // 1000


def test_a_status_is_one_line_and_cannot_carry_other_assignments(systemd: socket.socket) -> None:
    notify.status("3 clients\nREADY=1")
    assert heard(systemd) == ["STATUS=3 clients READY=1"]


@pytest.mark.parametrize("address", [None, "", "vsock:2:1234"])
def test_without_a_socket_that_we_know_nothing_happens(monkeypatch: pytest.MonkeyPatch, address: str | None) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    if address is not None:
        monkeypatch.setenv("NOTIFY_SOCKET", address)
    assert not notify.notify("READY=1")


def test_a_socket_that_has_gone_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    assert not notify.notify("READY=1")


@pytest.mark.parametrize(
    ("usec", "pid", "interval"),
    [
        ("30000000", None, 15.0),
        pytest.param("30000000", str(os.getpid()), 15.0, id="our own process"),
        ("30000000", "1", None),
        ("0", None, None),
        ("x", None, None),
        (None, None, None),
    ],
)
def test_a_sign_of_life_is_due_twice_as_often_as_systemd_asks(
    monkeypatch: pytest.MonkeyPatch, usec: str | None, pid: str | None, interval: float | None
) -> None:
    for name, value in (("WATCHDOG_USEC", usec), ("WATCHDOG_PID", pid)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert notify.watchdog_interval() == interval
