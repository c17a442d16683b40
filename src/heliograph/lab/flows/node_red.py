"""Node-RED as a peer: a program of its own that runs the same flows, with MQTT on both sides."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from heliograph.common import process_end
from heliograph.lab.machine import HOST, on_core

INSTALL = "make node-red"
_INSTALLED = Path(sys.prefix) / "node-red" / "node_modules" / ".bin" / "node-red"
_SETTINGS = """
module.exports = {
    uiHost: "127.0.0.1", uiPort: 0, disableEditor: true, httpAdminRoot: false, httpNodeRoot: false,
    flowFile: "flows.json", credentialSecret: false,
    logging: { console: { level: "warn", metrics: false, audit: false } },
    diagnostics: { enabled: false, ui: false }, telemetry: { enabled: false },
};
"""
Node = dict[str, object]
_XML: Node = {"type": "xml", "property": "payload", "attr": "", "chr": ""}
"""A text becomes an object, an object becomes a text."""
_CHANGE = "msg.payload.CSIM.A1[0] = 'x'; return msg;"
PROGRAMS: dict[str, Sequence[Node]] = {
    "pass through": [{"type": "function", "func": "return msg;"}],
    "simple compute": [_XML, {"type": "function", "func": _CHANGE}, _XML],
}
"""Nodes between input and output, by what they do."""


def program() -> str | None:
    """Where it is; None if it is not installed."""
    return shutil.which("node-red") or (str(_INSTALLED) if _INSTALLED.exists() else None)


def version() -> str:
    """Of what is installed."""
    found = program()
    if found is None:
        return "not installed"
    package = Path(found).resolve().parent / "package.json"
    return str(json.loads(package.read_text())["version"]) if package.exists() else "of unknown version"


def flow_file(nodes: Sequence[Node], port: int, source: str, target: str) -> str:
    """A flow of Node-RED: MQTT in, these nodes, MQTT out."""
    names = [f"n{number}" for number in range(len(nodes) + 2)]
    ends: list[Node] = [
        {"type": "mqtt in", "topic": source, "qos": "1", "datatype": "utf8", "broker": "server", "inputs": 0},
        {"type": "mqtt out", "topic": target, "qos": "1", "retain": "false", "broker": "server"},
    ]
    server: Node = {
        "id": "server",
        "type": "mqtt-broker",
        "broker": HOST,
        "port": str(port),
        "protocolVersion": "4",
    }
    server |= {"clientid": "node-red", "autoConnect": True, "usetls": False, "keepalive": "60", "cleansession": True}
    written: list[Node] = [{"id": "tab", "type": "tab", "label": "measured"}, server]
    for at, node in enumerate([ends[0], *nodes, ends[1]]):
        behind = [[names[at + 1]]] if at + 1 < len(names) else []
        written.append({"id": names[at], "z": "tab", "name": "", "wires": behind, "outputs": 1, **node})
    return json.dumps(written)


class NodeRed:
    """A process that runs one flow."""

    def __init__(self, folder: Path, flow: str, core: int | None) -> None:
        folder.mkdir()
        (folder / "flows.json").write_text(flow)
        (folder / "settings.js").write_text(_SETTINGS)
        self._log = folder / "log"
        command = [program() or "node-red", "--userDir", str(folder), "--settings", str(folder / "settings.js")]
        with self._log.open("ab") as log, on_core(core):
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def last_words(self) -> str:
        """The end of its log."""
        return self._log.read_text(errors="replace").strip()[-500:]

    def close(self) -> None:
        """End it."""
        process_end.end(self._process, 10)
