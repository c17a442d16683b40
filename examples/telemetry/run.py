"""Runs the telemetry example: the server with its pipeline, simulated devices, and a subscriber that shows alerts.

python examples/telemetry/run.py [CONFIG]

Ctrl-C stops everything in good order; started again, it goes on where it was.
"""

import contextlib
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
HELIO = sys.executable, "-m", "heliograph.cli.main"
PORT = "1883"


def main(config: Path) -> int:
    """Until Ctrl-C, or until one of them ends by itself."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    server = start(*HELIO, "serve", "--config", str(config))
    others: list[subprocess.Popen[bytes]] = []
    try:
        wait_for(server)
        others.append(start(sys.executable, str(HERE / "devices.py"), f"127.0.0.1:{PORT}"))
        alerts = start(*HELIO, "sub", "-p", PORT, "-t", "alerts/#", "-v", stdout=subprocess.PIPE)
        others.append(alerts)
        assert alerts.stdout is not None
        for line in alerts.stdout:
            if began:
                print(f"-- the first alert, {time.monotonic() - began:.0f} s after the start", flush=True)
                began = 0.0
            print(line.decode().rstrip(), flush=True)
    except KeyboardInterrupt:
        print("-- stopping; what is in hand is finished", flush=True)
    finally:
        for process in others:
            process.terminate()
        server.send_signal(signal.SIGINT)
        status = server.wait()
    return status


def wait_for(server: subprocess.Popen[bytes]) -> None:
    """Until the server takes connections, or has ended."""
    while server.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", int(PORT))).close()
            return
        time.sleep(0.05)
    raise SystemExit(server.returncode)


def start(*command: str, stdout: int | None = None) -> subprocess.Popen[bytes]:
    """Start a process that Ctrl-C does not reach: `main` stops them one after the other."""
    return subprocess.Popen(command, stdout=stdout, start_new_session=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "heliograph.toml"))
