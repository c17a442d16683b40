"""A RabbitMQ of the test's own, with its AMQP 1.0 plug-in: everything in a temporary folder, on ports of its own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
PATIENCE = 60.0


def installed() -> bool:
    """Whether there is a RabbitMQ on this machine."""
    return PROGRAM.exists() and shutil.which("epmd") is not None


# Moves what is in the queue "away" to the queue "back" of another server. Whoever comes before it is up, and makes
# its queue by sending to /queue/away, makes one that is not durable.
_SHOVEL = """
[{{rabbitmq_shovel, [{{shovels, [{{there_and_back, [
  {{source, [{{protocol, amqp091}}, {{uris, ["amqp://127.0.0.1:{port}"]}}, {{queue, <<"away">>}},
            {{declarations, [{{'queue.declare', [{{queue, <<"away">>}}]}}]}}]}},
  {{destination, [{{protocol, amqp10}}, {{uris, ["{url}"]}}, {{target_address, <<"back">>}}]}},
  {{ack_mode, on_confirm}}
]}}]}}]}}].
"""


@contextmanager
def running(folder: Path, *, shovel_to: str | None = None) -> Iterator[str]:
    """Run a server that keeps everything in `folder`; gives its URL, with a user and password.

    With `shovel_to`, a shovel takes what comes into its queue "away" to the queue "back" of the server with that URL.
    """
    port, epmd_port, distribution_port = _free_ports(3)
    shovel = "" if shovel_to is None else ",rabbitmq_shovel"
    (folder / "plugins").write_text(f"[rabbitmq_amqp1_0{shovel}].\n")
    if shovel_to is not None:
        (folder / "rabbitmq.config").write_text(_SHOVEL.format(port=port, url=shovel_to))
    # Debian's own environment file would set folders that belong to the system's instance.
    (folder / "environment").write_text("")
    environment = {
        **os.environ,
        "HOME": str(folder),
        "ERL_EPMD_PORT": str(epmd_port),
        "RABBITMQ_NODENAME": f"heliograph-test-{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(distribution_port),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "environment"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        # Otherwise a shell stands between this process and the server, and a signal would reach only the shell.
        "RABBITMQ_ALLOW_INPUT": "1",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 -noinput",
    }
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    names = subprocess.Popen(["epmd", "-port", str(epmd_port), "-address", "127.0.0.1"], **quiet)
    server = subprocess.Popen([str(PROGRAM)], env=environment, cwd=folder, **quiet)
    try:
        _wait_for(port, server, folder)
        yield f"amqp://guest:guest@127.0.0.1:{port}"
    finally:
        for process in (server, names):
            process.terminate()
        for process in (server, names):
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _wait_for(port: int, server: subprocess.Popen[bytes], folder: Path) -> None:
    """Until the server answers with a protocol header; it listens a moment before its plug-ins are ready."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert server.poll() is None, _log(folder)
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as probe:
                probe.settimeout(1)
                probe.sendall(b"AMQP\x03\x01\x00\x00")
                if probe.recv(8) == b"AMQP\x03\x01\x00\x00":
                    return
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"RabbitMQ did not start in {PATIENCE} s:\n{_log(folder)}")


def _log(folder: Path) -> str:
    return "\n".join(file.read_text()[-4000:] for file in (folder / "log").glob("*.log"))
