"""A server with queues, and `helio` run against it within the test's own process."""

import contextlib
import io
import sys
from pathlib import Path
from unittest import mock

from configurations import BOTH
from heliograph.cli.main import main
from running import RunningServer

CONFIG = f"""{BOTH}
[[queue]]
name = "orders"
description = "what customers want"
[[queue]]
name = "ORDERS"
kind = "alias"
target = "orders"
"""


class QueueServer:
    """A running server that `helio` commands are sent to."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        self.url = server.url("amqp")

    def helio(self, *words: str, stdin: bytes = b"", url: str | None = None) -> tuple[int, str, str]:
        """Run a command on this server: exit status, standard output, standard error."""
        command, *rest = words
        return helio(command, *rest, "--url", url or self.url, stdin=stdin)

    def done(self, *words: str, stdin: bytes = b"") -> str:
        """Run a command, which must do well; what it prints."""
        status, out, err = self.helio(*words, stdin=stdin)
        assert (status, err) == (0, ""), (words, status, out, err)
        return out

    def problem(self, *words: str) -> str:
        """Run a command, which must fail as an error of the user does; what is said."""
        status, out, err = self.helio(*words)
        assert (status, out) == (1, ""), (words, status, out, err)
        return err.removesuffix("\n")


def helio(*words: str, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run a command: exit status, standard output, standard error."""
    out, err = io.BytesIO(), io.BytesIO()
    with (
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        contextlib.redirect_stdout(io.TextIOWrapper(out, write_through=True)) as out_text,
        contextlib.redirect_stderr(io.TextIOWrapper(err, write_through=True)) as err_text,
    ):
        status = main(list(words))
        texts = out.getvalue().decode(), err.getvalue().decode()
        out_text.detach()
        err_text.detach()
    return status, *texts


def write(folder: Path, name: str, data: bytes) -> str:
    """A file with this in it; its path."""
    path = folder / name
    path.write_bytes(data)
    return str(path)
