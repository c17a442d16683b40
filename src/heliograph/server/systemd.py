"""Tells systemd how the process is doing (the protocol of sd_notify). Without systemd, all of it does nothing."""

import logging
import os
import socket
import time

log = logging.getLogger(__name__)


def notify(*assignments: str) -> bool:
    """Send assignments such as "READY=1" in one message; whether there was anyone to send them to."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address[:1] not in {"/", "@"}:
        return False
    if address[0] == "@":  # a name without a file, which the kernel marks with a null byte
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)  # the event loop calls us; better one message lost than everyone waiting
            sender.sendto("\n".join(assignments).encode(), address)
    except OSError as error:
        log.warning("cannot notify systemd", extra={"error": error.strerror})
        return False
    return True


def ready() -> None:
    """The server accepts clients; also ends `reloading`."""
    notify("READY=1")


def reloading() -> None:
    """The configuration is being read again; `ready` must follow, whether it worked or not."""
    notify("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")


def stopping() -> None:
    """The server is on its way out."""
    notify("STOPPING=1")


def status(text: str) -> None:
    """A line for `systemctl status`."""
    notify("STATUS=" + " ".join(text.splitlines()))


def watchdog() -> None:
    """A sign of life."""
    notify("WATCHDOG=1")


def watchdog_interval() -> float | None:
    """Seconds between two signs of life, half of what systemd allows; None when it does not want any from us."""
    allowed = os.environ.get("WATCHDOG_USEC", "")
    wanted_from = os.environ.get("WATCHDOG_PID", "") or str(os.getpid())
    if not allowed.isdecimal() or int(allowed) == 0 or wanted_from != str(os.getpid()):
        return None
    return int(allowed) / 2_000_000
