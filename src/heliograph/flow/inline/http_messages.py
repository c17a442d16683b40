"""Requests and answers of HTTP, as a flow knows them."""

from dataclasses import dataclass, field


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
    """What is said to a request."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def plain(status: int, text: str) -> Answer:
    """An answer for people."""
    return Answer(status, text.encode() + b"\n", {"Content-Type": "text/plain; charset=utf-8"})
