"""HTTP requests: each waits for an instance that processes it, and then for the flow's answer."""

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl
from uuid import uuid4

from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.outcome import LogEvent, Respond
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.hosting import ATTEMPTS
from heliograph.flow.inline.queue_input import WAIT
from heliograph.flow.inline.units_of_work import UnitsOfWork

# Requests and answers of HTTP, as a flow knows them.


@dataclass(slots=True)
class Request:
    """A request as the flow gets it."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    peer: str


@dataclass(slots=True)
class Answer:
    """The answer to a request."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def plain(status: int, text: str) -> Answer:
    """An answer for people."""
    return Answer(status, text.encode() + b"\n", {"Content-Type": "text/plain; charset=utf-8"})


MOST_WAITING = 1000


@dataclass(slots=True)
class _Waiting:
    request: Request
    answered: threading.Event = field(default_factory=threading.Event)
    answer: Answer | None = None


class Requests:
    """All requests of a process that wait for an answer, by their identifiers."""

    def __init__(self, nodes: Sequence[NodeDefinition]) -> None:
        self._nodes = nodes
        self._queues: dict[str, queue.Queue[tuple[bytes, Request]]] = {
            node.name: queue.Queue(MOST_WAITING) for node in nodes
        }
        self._waiting: dict[bytes, _Waiting] = {}

    def handle(self, request: Request) -> Answer:
        """Queue a request and wait for the flow's answer."""
        at_path = [node for node in self._nodes if _takes(node.properties["path"], request.path)]
        if not at_path:
            return plain(404, f"There is nothing at {request.path}.")
        node = next((node for node in at_path if request.method in node.properties["methods"]), None)
        if node is None:
            methods = ", ".join(method for each in at_path for method in each.properties["methods"])
            answer = plain(405, f"{request.path} takes {methods}.")
            answer.headers["Allow"] = methods
            return answer
        identifier = uuid4().bytes
        waiting = self._waiting[identifier] = _Waiting(request)
        try:
            self._queues[node.name].put_nowait((identifier, request))
            waiting.answered.wait(node.properties["timeout"])
        except queue.Full:
            return plain(503, "Too many requests are waiting.")
        finally:
            del self._waiting[identifier]
        return waiting.answer or plain(504, "The flow did not answer in time.")

    def take(self, node: str, wait: float) -> tuple[bytes, Request] | None:
        """The next request for a node, or None after `wait` seconds."""
        try:
            return self._queues[node].get(timeout=wait) if wait else self._queues[node].get_nowait()
        except queue.Empty:
            return None

    def is_waiting(self, identifier: bytes) -> bool:
        """Whether the client still waits for an answer."""
        return identifier in self._waiting

    def respond(self, effect: Respond) -> bool:
        """Answer a request; False if it has been answered or has timed out."""
        waiting = self._waiting.get(effect.request)
        if waiting is None or waiting.answered.is_set():
            return False
        waiting.answer = Answer(effect.status, effect.body, dict(effect.headers))
        waiting.answered.set()
        return True


def _takes(path: str, found: str) -> bool:
    if path.endswith("/*"):
        return found == path[:-2] or found.startswith(path[:-1])
    return path == found


class RequestConsumer:
    """Takes requests for one instance of an HttpInput."""

    def __init__(self, node: NodeDefinition, requests: Requests, units: UnitsOfWork) -> None:
        self._node = node
        self._requests = requests
        self._units = units

    def turn(self) -> None:
        """Take one request, or wait a moment."""
        found = self._requests.take(self._node.name, WAIT)
        if found is not None:
            self._carry_out(*found)

    def _carry_out(self, identifier: bytes, request: Request) -> None:
        if not self._requests.is_waiting(identifier):
            return
        envelope = envelope_of(identifier, request)
        for _ in range(ATTEMPTS):
            step, _ = self._units.process(self._node.name, [envelope])
            if step.is_done:
                return
        self._units.log(LogEvent(self._node.name, f"{request.method} {request.path} could not be carried out"))
        self._requests.respond(
            Respond(identifier, 503, {}, b"The request could not be carried out.\n", self._node.name)
        )

    def close(self) -> None:
        """Answer the requests that wait."""
        while (found := self._requests.take(self._node.name, 0)) is not None:
            self._carry_out(*found)


def envelope_of(identifier: bytes, request: Request) -> Envelope:
    """A request as a message; its facts are for the local environment."""
    return Envelope(
        request.body,
        message_id=identifier,
        created=time.time(),
        content_type=request.headers.get("content-type", ""),
        properties={
            "RequestLine": {"Method": request.method, "Path": request.path, "QueryString": request.query},
            "QueryString": dict(parse_qsl(request.query)),
            "Header": request.headers,
            "ClientAddress": request.peer,
        },
    )
