"""Attaches as Qpid JMS writes them, by way of Proton's engine: names, capabilities, filters, durability and expiry.

Two things of Qpid JMS cannot be said with Proton in Python: the default outcome of a source, and capabilities that are
wanted of a link.
"""

from collections.abc import Sequence
from typing import Any

from proton import UNDESCRIBED, Array, Data, Described, Link, Terminus, byte, symbol, ulong

from interop.amqp_letters import Letter
from interop.proton_peer import Proton, ProtonCoordinator, ProtonReceiver, ProtonSender

DESIRED = ("sole-connection-for-container", "DELAYED_DELIVERY", "ANONYMOUS-RELAY", "SHARED-SUBS")
OUTCOMES = ("amqp:accepted:list", "amqp:rejected:list", "amqp:released:list", "amqp:modified:list")
PREFETCH = 1000
CLIENT = "ID:7b0c5a4e-jms"


class QpidJms:
    """A connection of Qpid JMS. It has a session of its own beside those of the application."""

    def __init__(self, port: int, client_id: str) -> None:
        self.connection = Proton().connect(port, container=client_id, desired=DESIRED)
        self.prefixes = {kind: self.connection.properties[f"{kind}-prefix"] for kind in ("queue", "topic")}
        self._number = 0

    def session(self) -> "JmsSession":
        """A session of the application."""
        made = self.connection.engine.session()
        made.open()
        return JmsSession(self, made)

    def number(self) -> str:
        """What is in the names of links that mean nothing."""
        self._number += 1
        return f"{CLIENT}:1:1:{self._number}"

    def temporary(self, kind: str) -> ProtonSender:
        """A temporary queue or topic; it lives as long as this link."""
        link = self.connection.main.sender(f"qpid-jms:temp-{kind}-creator:{self.number()}")
        link.target.dynamic = True
        link.target.durability = Terminus.NONDURABLE
        link.target.expiry_policy = Terminus.EXPIRE_WITH_LINK
        lifetime = {symbol("lifetime-policy"): Described(ulong(0x2B), [])}
        link.target.properties.put_object(lifetime)
        link.target.capabilities.put_object(_symbols([f"temporary-{kind}"]))
        return ProtonSender(self.connection, _opened(link))

    def unsubscribe(self, link_name: str) -> ProtonReceiver:
        """The link without a source by which a durable subscription is ended: it has to be closed then."""
        link = self.connection.main.receiver(link_name)
        link.source.type = Terminus.UNSPECIFIED
        return ProtonReceiver(self.connection, _opened(link), 0)

    def close(self) -> None:
        self.connection.close()


class JmsSession:
    """A session of the application."""

    def __init__(self, jms: QpidJms, session: Any) -> None:
        self._jms = jms
        self._session = session

    def producer(self, kind: str, name: str) -> ProtonSender:
        """Of a queue or topic, or of a temporary one, whose name is its address."""
        address = self._jms.prefixes.get(kind, "") + name
        link = self._session.sender(f"qpid-jms:sender:{self._jms.number()}:{address}")
        link.source.address = link.name
        link.source.outcomes.put_object(_symbols(OUTCOMES))
        link.target.address = address
        link.target.capabilities.put_object(_symbols([kind]))
        return ProtonSender(self._jms.connection, _opened(link))

    def anonymous_producer(self) -> ProtonSender:
        """Messages say themselves where they go."""
        link = self._session.sender(f"qpid-jms:sender:{self._jms.number()}")
        link.source.address = link.name
        link.source.outcomes.put_object(_symbols(OUTCOMES))
        link.target.address = None
        return ProtonSender(self._jms.connection, _opened(link))

    def consumer(
        self,
        kind: str,
        name: str,
        *,
        subscription: str | None = None,
        durable: bool = False,
        sharing: Sequence[str] = (),
        selector: str | None = None,
        no_local: bool = False,
        browser: bool = False,
        credit: int = PREFETCH,
    ) -> ProtonReceiver:
        """A consumer; `subscription` is the name of its link, which tells the server what it is for."""
        address = self._jms.prefixes.get(kind, "") + name
        link = self._session.receiver(subscription or f"qpid-jms:receiver:{self._jms.number()}:{address}")
        source = link.source
        source.address = address
        source.durability = Terminus.DELIVERIES if durable else Terminus.NONDURABLE
        source.expiry_policy = Terminus.EXPIRE_NEVER if durable else Terminus.EXPIRE_WITH_LINK
        if durable or browser:
            source.distribution_mode = Terminus.DIST_MODE_COPY
        source.outcomes.put_object(_symbols(OUTCOMES))
        source.capabilities.put_object(_symbols([kind, *sharing]))
        filters: dict[Any, Any] = {}
        if no_local:
            filters[symbol("no-local")] = Described(ulong(0x0000468C00000003), "NoLocalFilter{}")
        if selector:
            filters[symbol("jms-selector")] = Described(ulong(0x0000468C00000004), selector)
        if filters:
            source.filter.put_object(filters)
        link.snd_settle_mode = Link.SND_SETTLED if browser else Link.SND_UNSETTLED
        link.rcv_settle_mode = Link.RCV_FIRST
        return ProtonReceiver(self._jms.connection, _opened(link), credit)

    def coordinator(self) -> ProtonCoordinator:
        """What a transacted session opens first."""
        link = self._session.sender(f"qpid-jms:coordinator:{self._jms.number()}")
        link.target.type = Terminus.COORDINATOR
        link.target.capabilities.put_object(_symbols(["amqp:local-transactions"]))
        link.source.outcomes.put_object(_symbols(OUTCOMES))
        return ProtonCoordinator(self._jms.connection, _opened(link))

    def close(self) -> None:
        self._session.close()
        self._jms.connection.pump(lambda: self._session.state & Link.REMOTE_CLOSED)


def text(body: str, to: str, **more: Any) -> Letter:
    """A text message to a queue as Qpid JMS makes it."""
    annotations = {"x-opt-jms-msg-type": byte(5), "x-opt-jms-dest": byte(0), **more.pop("annotations", {})}
    return Letter(body, durable=True, message_id=f"{CLIENT}:1:1:1-1", to=to, annotations=annotations, **more)


def _opened(link: Any) -> Any:
    if link.is_sender:
        link.snd_settle_mode = Link.SND_UNSETTLED
        link.rcv_settle_mode = Link.RCV_FIRST
    link.open()
    return link


def _symbols(names: Sequence[str]) -> Any:
    return Array(UNDESCRIBED, Data.SYMBOL, *map(symbol, names))
