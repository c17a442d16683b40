"""rhea, the AMQP client of Node programs, in a process of its own."""

import base64
import json
import queue
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from interop.amqp_letters import UNSUBSCRIBE, Large, Letter, Outcome, Refused, Repeated, Terminus
from running import PATIENCE
from tools import missing, program

NODE = Path(__file__).parent / "node"
_MAPS = {"properties": "application_properties", "annotations": "message_annotations"}


class Rhea:
    """Makes connections with rhea. One process does for all of them."""

    name = "rhea"

    def __init__(self) -> None:
        if not (NODE / "node_modules" / "rhea").exists():
            missing("rhea", "run `make node-clients` (needs Node.js and npm)")
        self._process = subprocess.Popen(
            [program("node", "install Node.js 18 or newer"), str(NODE / "rhea.js")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._answers: queue.Queue[bytes] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        self._number = 0
        assert b'"ready"' in self._answers.get(timeout=PATIENCE)

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(b'{"number":0,"broken":"Node has ended"}')

    def ask(self, request: str, **told: Any) -> dict[str, Any]:
        """Have something done, and wait for the answer."""
        self._number += 1
        line = json.dumps({"number": self._number, "request": request, **told})
        assert self._process.stdin
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
        answer = {}
        while answer.get("number") != self._number:  # one that nobody waited for long enough may come late
            answer = json.loads(self._answers.get(timeout=2 * PATIENCE))
            assert answer["number"], answer["broken"]
        if "refused" in answer:
            error = answer["refused"]
            raise Refused(error["condition"], error["description"], error["info"])
        assert "answer" in answer, answer["broken"]
        result: dict[str, Any] = answer["answer"]
        return result

    def connect(
        self,
        port: int,
        *,
        container: str | None = None,
        hostname: str | None = None,
        user: str | None = None,
        password: str | None = None,
        authority: Path | None = None,
        certificate: tuple[Path, Path] | None = None,
        websocket: str | None = None,
        idle: int | None = None,
        desired: Sequence[str] = (),
        frame_size: int | None = None,
    ) -> "RheaConnection":
        told: dict[str, Any] = {"host": "localhost" if authority else "127.0.0.1", "port": port}
        told |= {"container_id": container, "username": user, "password": password, "hostname": hostname}
        told |= {"idle_time_out": idle, "desired_capabilities": list(desired) or None, "websocket": websocket}
        told |= {"max_frame_size": frame_size}
        if authority:
            told |= {"transport": "tls", "authority": str(authority)}
        if certificate:
            told |= {"certificate": str(certificate[0]), "key": str(certificate[1]), "external": True}
        return RheaConnection(self, self.ask("connect", **{key: it for key, it in told.items() if it is not None}))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._thread.join(PATIENCE)
        assert self._process.stdout
        self._process.stdout.close()


class RheaConnection:
    """A connection, and its first session."""

    def __init__(self, rhea: Rhea, told: dict[str, Any]) -> None:
        self._rhea = rhea
        self._number = told["connection"]
        self.offered, self.properties = told["offered"], told["properties"]

    def session(self) -> "RheaSession":
        return RheaSession(self._rhea, self._rhea.ask("session", connection=self._number)["session"])

    def sender(self, *args: Any, **options: Any) -> "RheaSender":
        return RheaSession(self._rhea, self._number).sender(*args, **options)

    def receiver(self, *args: Any, **options: Any) -> "RheaReceiver":
        return RheaSession(self._rhea, self._number).receiver(*args, **options)

    def coordinator(self) -> "RheaCoordinator":
        return RheaSession(self._rhea, self._number).coordinator()

    def ended(self, timeout: float = PATIENCE) -> str | None:
        """Why the server has closed the connection, once it has; None if it has not."""
        told = self._rhea.ask("ended", thing=self._number, timeout=timeout)
        return ((told["error"] or {}).get("condition") or "") if told["over"] else None

    def close(self) -> None:
        self._rhea.ask("close", thing=self._number)

    def cut(self) -> None:
        """Lose the connection."""
        self._rhea.ask("cut", connection=self._number)


class RheaSession:
    """A session: what has links."""

    def __init__(self, rhea: Rhea, number: int) -> None:
        self._rhea = rhea
        self._number = number

    def sender(self, target: str | Terminus | None, *, name: str | None = None, settled: bool = False) -> "RheaSender":
        options: dict[str, Any] = {"target": _target(target), "name": name}
        if settled:
            options["snd_settle_mode"] = 1
        return RheaSender(self._rhea, self._rhea.ask("sender", on=self._number, options=_without_none(options)))

    def receiver(
        self,
        source: str | Terminus,
        *,
        credit: int = 10,
        name: str | None = None,
        settled: bool = False,
        second: bool = False,
    ) -> "RheaReceiver":
        asked = source if isinstance(source, Terminus) else Terminus(source)
        options: dict[str, Any] = {"name": name, "source": None if asked is UNSUBSCRIBE else _source(asked)}
        if settled:
            options["snd_settle_mode"] = 1
        if second:
            options["rcv_settle_mode"] = 1
        told: dict[str, Any] = {"noLocal": asked.no_local, "nullSource": asked is UNSUBSCRIBE, "failing": asked.failing}
        if asked.selector is not None:
            told["selector"] = asked.selector
        answer = self._rhea.ask("receiver", on=self._number, options=_without_none(options), **told)
        receiver = RheaReceiver(self._rhea, answer)
        receiver.credit(credit)
        return receiver

    def coordinator(self) -> "RheaCoordinator":
        return RheaCoordinator(self._rhea, self._rhea.ask("coordinator", on=self._number))

    def end(self) -> None:
        self._rhea.ask("endSession", session=self._number)


class _RheaLink:
    def __init__(self, rhea: Rhea, told: dict[str, Any]) -> None:
        self._rhea = rhea
        self._number = told["link"]
        self.address, self.longest, self.filters = told["address"], told["longest"], told["filter"]
        some = told["capabilities"] or []
        self.capabilities = [some] if isinstance(some, str) else some

    def ended(self, timeout: float = PATIENCE) -> str | None:
        """Why the server has ended the link, once it has; None if it has not."""
        told = self._rhea.ask("ended", thing=self._number, timeout=timeout)
        return ((told["error"] or {}).get("condition") or "") if told["over"] else None

    def close(self) -> None:
        self._rhea.ask("close", thing=self._number)

    def detach(self) -> None:
        self._rhea.ask("detach", link=self._number)


class RheaSender(_RheaLink):
    """A link to send on."""

    def send(self, letter: Letter, *, txn: bytes | None = None) -> Outcome:
        """Send, and wait until the server has said what became of it; at once if it is sent settled."""
        told = {"txn": txn.hex()} if txn else {}
        return _outcome(self._rhea.ask("send", link=self._number, message=_told(letter), **told))

    def send_all(self, letters: Sequence[Letter]) -> list[str]:
        """Send several at once; what became of them."""
        messages = [_told(letter) for letter in letters]
        outcomes: list[str] = self._rhea.ask("sendMany", link=self._number, messages=messages)["outcomes"]
        return outcomes


class RheaReceiver(_RheaLink):
    """A link to receive on."""

    def get(self, timeout: float = PATIENCE) -> "RheaDelivery | None":
        """The next message; None if there is none in time."""
        told = self._rhea.ask("get", link=self._number, timeout=timeout)
        return RheaDelivery(self._rhea, told) if told["delivery"] else None

    def credit(self, number: int) -> None:
        self._rhea.ask("credit", link=self._number, credit=number)

    def drain(self) -> None:
        """Wait until the server has sent what it has and taken back the credit."""
        assert self._rhea.ask("drain", link=self._number)["credit"] == 0


class RheaDelivery:
    """A message that has come."""

    def __init__(self, rhea: Rhea, told: dict[str, Any]) -> None:
        self._rhea = rhea
        self._number = told["delivery"]
        self.settled = told["settled"]
        self.letter = _letter(told["message"])

    def settle(self, outcome: str = "accepted", *, settled: bool = True, txn: bytes | None = None, **more: Any) -> None:
        """Say what becomes of it. `error` is a pair, `failed` and `undeliverable` are those of `modified`."""
        if "error" in more:
            more["error"] = dict(zip(("condition", "description"), more["error"], strict=True))
        if txn:
            more["txn"] = txn.hex()
        self._rhea.ask("settle", delivery=self._number, outcome=outcome, settled=settled, awaited=not settled, **more)


class RheaCoordinator(_RheaLink):
    """A link to the server's coordinator."""

    def declare(self) -> bytes:
        """Begin a transaction."""
        outcome = _outcome(self._rhea.ask("declare", link=self._number))
        assert outcome.outcome == "declared"
        return outcome.txn

    def discharge(self, txn: bytes, *, fail: bool = False) -> Outcome:
        """Commit it, or roll it back."""
        return _outcome(self._rhea.ask("discharge", link=self._number, txn=txn.hex(), fail=fail))


# Values in JSON


def _without_none(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def _target(target: str | Terminus | None) -> dict[str, Any]:
    asked = target if isinstance(target, Terminus) else Terminus(target)
    told: dict[str, Any] = {"address": asked.address, "dynamic": asked.dynamic or None}
    return _without_none(told | {"capabilities": list(asked.capabilities) or None})


def _source(asked: Terminus) -> dict[str, Any]:
    told = _target(asked)
    if asked.lasting:
        told |= {"durable": 2, "expiry_policy": "never"}
    if asked.copy:
        told["distribution_mode"] = "copy"
    return told


def _json(value: Any) -> Any:
    match value:
        case bytes():
            return {"$bytes": base64.b64encode(value).decode()}
        case Repeated():
            return {"$repeated": [base64.b64encode(value.piece).decode(), value.size]}
        case UUID():
            return {"$uuid": value.hex}
        case dict():
            return {key: _json(item) for key, item in value.items()}
        case list():
            return [_json(item) for item in value]
    return value


def _value(told: Any) -> Any:
    match told:
        case {"$bytes": text}:
            return base64.b64decode(text)
        case {"$large": [size, digest]}:
            return Large(size, digest)
        case {"$sequence": items}:
            return _value(items)
        case dict():
            return {key: _value(item) for key, item in told.items()}
        case list():
            return [_value(item) for item in told]
    return told


def _told(letter: Letter) -> dict[str, Any]:
    told = {_MAPS.get(key, key): _json(value) for key, value in vars(letter).items() if value not in (None, {}, 0)}
    return told | {"body": _json(letter.body)}


def _letter(told: dict[str, Any]) -> Letter:
    back = {theirs: ours for ours, theirs in _MAPS.items()}
    fields = {back.get(key, key): _value(value) for key, value in told.items() if value is not None}
    return Letter(**{key: value for key, value in fields.items() if key in Letter.__dataclass_fields__})


def _outcome(told: dict[str, Any]) -> Outcome:
    error = told.get("error") or {}
    txn = bytes.fromhex(told.get("txn") or "")
    return Outcome(told["outcome"], error.get("condition") or "", error.get("description") or "", txn)
