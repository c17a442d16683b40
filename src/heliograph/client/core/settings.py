"""How a connection behaves: what `connect` takes, in one value."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from heliograph.client.errors import MessagingProblem
from heliograph.errors import Problem


@dataclass(frozen=True)
class Settings:
    """All options of a connection, except those of TLS."""

    client_id: str = ""
    """Who this is, for durable subscriptions. One connection at a time may have it."""
    prefetch: int = 1000
    """How many messages a consumer keeps ready; asked for again when half of them are used."""
    timeout: float = 60.0
    """Seconds that the server has for an answer, and for letting us in."""
    idle_timeout: float = 60.0
    """A connection that is silent for so many seconds is dead."""
    reconnect: bool = True
    """Whether a lost connection is made again."""
    on_interrupted: Callable[[MessagingProblem], object] | None = None
    on_restored: Callable[[str], object] | None = None
    container_id: str = field(default_factory=lambda: f"heliograph-{uuid.uuid4()}")
    """What the connection is called if it has no client id."""

    @property
    def identity(self) -> str:
        """The name that the server knows this connection by."""
        return self.client_id or self.container_id


_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "client_id": str,
    "prefetch": int,
    "timeout": float,
    "idle_timeout": float,
    "reconnect": lambda text: {"true": True, "false": False}[text.lower()],
}


def settings_of(in_url: dict[str, str], given: dict[str, Any]) -> Settings:
    """Options from a URL, and those that were given as arguments, which win."""
    values: dict[str, Any] = {}
    for name, text in in_url.items():
        if name not in _FROM_TEXT:
            known = ", ".join(sorted([*_FROM_TEXT, "hostname"]))
            raise Problem(f"no option of a server's URL is called {name!r}; there are {known}")
        try:
            values[name] = _FROM_TEXT[name](text)
        except (KeyError, ValueError):
            raise Problem(f"the option {name} in a server's URL cannot be {text!r}") from None
    values |= {name: value for name, value in given.items() if value is not None}
    settings = Settings(**values)
    if settings.prefetch < 0 or settings.timeout <= 0 or settings.idle_timeout < 0:
        raise Problem("prefetch and idle_timeout cannot be negative, and timeout is more than 0 seconds")
    return settings
