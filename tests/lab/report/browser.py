"""A real browser without a window, told what to do over its debugging protocol."""

import base64
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tools import program

_PLAIN = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
_QUIET = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
_PATIENCE = 30.0
_LISTENS = "DevTools listening on "


class Tab:
    """One page in a browser."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection, self._number, self._session = connection, 0, ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")

    def open(self, file: Path, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Show a file in a window of this size, and wait until it is there."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", media="screen", features=[scheme])
        self._call("Page.navigate", url=file.as_uri())
        self._await("Page.loadEventFired")

    def ask(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self, file: Path, *, top: float = 0, height: float = 1600) -> None:
        """Save a part of the page as PNG."""
        width = self._call("Page.getLayoutMetrics")["cssContentSize"]["width"]
        clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
        shot = self._call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def print(self, file: Path) -> None:
        """Save what a printer would get, as PDF."""
        self._call("Emulation.setEmulatedMedia", media="print", features=[])
        pages = self._call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        file.write_bytes(base64.b64decode(pages["data"]))

    def show_as_printed(self, width: int) -> None:
        """Lay the page out as for paper of this width."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
        self._call("Emulation.setEmulatedMedia", media="print", features=[])

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        told = {"id": self._number, "method": method, "params": parameters}
        self._connection.send(json.dumps(told | ({"sessionId": self._session} if self._session else {})))
        while True:
            said = json.loads(self._connection.recv(_PATIENCE))
            if said.get("id") == self._number:
                assert "error" not in said, (method, said["error"])
                result: dict[str, Any] = said["result"]
                return result

    def _await(self, event: str) -> None:
        while json.loads(self._connection.recv(_PATIENCE)).get("method") != event:
            pass


@contextmanager
def browser(folder: Path) -> Iterator[Tab]:
    """A browser with its profile in this folder, and one tab in it."""
    chromium = program("chromium", "install the package chromium")
    process = subprocess.Popen(
        [chromium, *_PLAIN, *_QUIET, f"--user-data-dir={folder}", "--remote-debugging-port=0", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stderr
        address = next(line for line in process.stderr if line.startswith(_LISTENS)).removeprefix(_LISTENS).strip()
        with connect(address, max_size=None, proxy=None) as connection:
            yield Tab(connection)
    finally:
        process.terminate()
        process.wait(_PATIENCE)
        if process.stderr:
            process.stderr.close()
