"""Options of one side of a connection."""

from dataclasses import dataclass, field
from typing import Any

ANONYMOUS, PLAIN, EXTERNAL = "ANONYMOUS", "PLAIN", "EXTERNAL"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Client: how to authenticate. The mechanism is `ANONYMOUS`, `PLAIN` or `EXTERNAL`."""

    mechanism: str
    user: str = ""
    password: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """What goes into our open, the limits we hold the peer to, and how SASL is done."""

    container_id: str
    hostname: str | None = None  # client: the host (or virtual host) that it wants
    max_frame_size: int = 256 * 1024
    channel_max: int = 255  # the highest channel, so one less than the number of sessions
    handle_max: int = 1023  # the highest handle of a session, so one less than the number of its links
    idle_timeout: int = 0  # ms of silence after which the peer is taken for dead; it is asked to keep to half of that
    offered_capabilities: tuple[str, ...] = ()
    desired_capabilities: tuple[str, ...] = ()
    properties: dict[str, Any] = field(default_factory=dict)
    mechanisms: tuple[str, ...] = (ANONYMOUS,)  # server: what it offers; none means that there is no SASL
    credentials: Credentials | None = None  # client: None means that there is no SASL
