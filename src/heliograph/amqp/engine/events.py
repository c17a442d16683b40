"""What `Connection.receive` tells its owner, in the order in which it came.

The engine's state is ahead of the events: when the owner handles the first of a list, all of them have happened to the
connection. Calls on a link, session or connection that the peer has left meanwhile do nothing.
"""

from typing import TYPE_CHECKING, NamedTuple

from heliograph.amqp.codec.performatives import DeliveryState, Error, Open

if TYPE_CHECKING:
    from heliograph.amqp.engine.link import Link
    from heliograph.amqp.engine.receiver import Receiver
    from heliograph.amqp.engine.session import Session


class Authenticate(NamedTuple):
    """Server: a client says who it is. Answer with `connection.authenticated`, now or later."""

    mechanism: str
    user: str
    password: str | None


class Opened(NamedTuple):
    """The peer's open. A server answers with `connection.open()`, or `connection.close(error)` to refuse."""

    open: Open


class Begun(NamedTuple):
    """A session is there: one that the peer began (answered already), or the answer to ours."""

    session: "Session"


class Attached(NamedTuple):
    """A link. When `link.accepted` is false, the peer began it: answer with `accept` or `refuse`, now or later.

    Else it is the answer to ours; a null source (or target) in it means that the peer refuses and `Detached` follows.
    """

    link: "Link"


class Delivery(NamedTuple):
    """One message that came. `number` is what `settle` is called with; it grows by one and never wraps."""

    number: int
    tag: bytes
    payload: bytes
    settled: bool
    state: DeliveryState | None
    message_format: int


class Transfers(NamedTuple):
    """A run of messages on one link."""

    link: "Receiver"
    deliveries: list[Delivery]


class Settled(NamedTuple):
    """The peer's disposition for deliveries `first` to `last` of this link; it has forgotten them when `settled`."""

    link: "Link"
    first: int
    last: int
    state: DeliveryState | None
    settled: bool


class Flowed(NamedTuple):
    """`link.credit`, `link.drain` or `link.available` changed."""

    link: "Link"


class Detached(NamedTuple):
    """The link is gone. If the peer began this, the owner answers with `link.detach(closed)`, now or later."""

    link: "Link"
    closed: bool
    error: Error | None


class Ended(NamedTuple):
    """The session is gone and its links (`session.links`) with it; no `Detached` comes for them."""

    session: "Session"
    error: Error | None


class Closed(NamedTuple):
    """The connection is over and everything on it. Write what is in `output`, then close the socket."""

    error: Error | None


Event = Authenticate | Opened | Begun | Attached | Transfers | Settled | Flowed | Detached | Ended | Closed
