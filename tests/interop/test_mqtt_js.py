"""MQTT.js over WebSocket, in Node and in a browser."""

import functools
import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from certificates import Authority
from configurations import PLAIN, listener
from heliograph.mqtt import Publish
from plain_client import PlainClient
from running import PATIENCE, RunningServer, Serve, environment
from tools import missing, program

NODE = Path(__file__).parent / "node"
BUNDLE = NODE / "node_modules" / "mqtt" / "dist" / "mqtt.min.js"
MANY_SMALL, FEW_LARGE = (2000, 20), (20, 200_000)


def library() -> None:
    if not BUNDLE.exists():
        missing("MQTT.js", "run `make node-clients` (needs Node.js and npm)")


def node(script: str, authority: Authority, **told: Any) -> dict[str, Any]:
    """Run a script in Node; what it says."""
    library()
    ended = subprocess.run(
        [program("node", "install Node.js 18 or newer"), str(NODE / script), json.dumps(told)],
        env=environment(NODE_EXTRA_CA_CERTS=str(authority.cert)),
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    said: dict[str, Any] = json.loads(ended.stdout)
    return said


@pytest.mark.parametrize("scheme", ["ws", "wss"])
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("load", [MANY_SMALL, FEW_LARGE], ids=["many small", "few large"])
def test_messages(
    server: RunningServer, authority: Authority, topic: str, scheme: str, version: int, qos: int, load: tuple[int, int]
) -> None:
    count, size = load
    url = server.url(scheme).replace("127.0.0.1", "localhost")
    protocol = {"protocolVersion": version}
    said = node("exchange.js", authority, url=url, topic=topic, qos=qos, count=count, size=size, **protocol)
    assert said == {"granted": qos, "received": count, "whole": True}


@pytest.mark.parametrize("scheme", ["ws", "wss", "mqtt", "mqtts"])
def test_what_mqtt_5_adds(server: RunningServer, authority: Authority, topic: str, scheme: str) -> None:
    said = node("features.js", authority, url=server.url(scheme).replace("127.0.0.1", "localhost"), topic=topic)
    properties = said.pop("properties")
    assert properties["userProperties"] == {"a": ["1", "2"]}
    assert properties["responseTopic"] == "answers"
    assert properties["correlationData"] == [0, 255]
    assert properties["contentType"] == "text/plain"
    assert properties["subscriptionIdentifier"] == 9
    assert said == {
        "names": [f"{topic}/question", f"{topic}/question", f"{topic}/other", f"{topic}/other"],
        "will": "gone",
        "kept": ["kept", True],
    }


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the page and the library; says nothing."""

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """The address of a web server with the page on it."""
    library()
    (tmp_path / "mqtt.min.js").symlink_to(BUNDLE)
    (tmp_path / "page.html").symlink_to(NODE / "page.html")
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/page.html"
        server.shutdown()
        thread.join()


def test_a_page_in_a_browser(serve: Serve, web: str, topic: str, tmp_path: Path) -> None:
    origin = web.removesuffix("/page.html")
    server = serve(PLAIN + listener("ws") + f'origins = ["{origin}"]\n')
    quiet = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    plain = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"]
    address = f"{web}?url={server.url('ws')}&topic={topic}"
    command = [program("chromium", "install the package chromium"), *plain, *quiet]
    with PlainClient(server.port).connected() as watcher:
        watcher.socket.settimeout(3 * PATIENCE)  # a browser takes its time to start
        watcher.subscribe(f"{topic}/report")
        browser = subprocess.Popen(
            [*command, f"--user-data-dir={tmp_path / 'profile'}", "--remote-debugging-port=0", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            report = watcher.receive()
        finally:
            browser.terminate()
            browser.wait(PATIENCE)
    assert isinstance(report, Publish)
    sizes = [*range(100), 200_000]
    assert json.loads(report.payload) == {f"{version} {qos}": sizes for version in (4, 5) for qos in (0, 1, 2)}
