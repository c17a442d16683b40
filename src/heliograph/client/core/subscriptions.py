"""What a consumer is attached to: the source of its link, and the name that makes it a subscription.

A server knows a subscription by the name of its link, so `SubscriptionNames` gives out the names that other JMS clients
give theirs: a subscription can be shared with them, and found again by any of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from heliograph.amqp import (
    Described,
    DistributionMode,
    Durability,
    ExpiryPolicy,
    Modified,
    Receiver,
    Released,
    SenderSettleMode,
    Source,
    ULong,
)
from heliograph.client.core.settings import Acknowledge
from heliograph.client.destination import Destination, TemporaryTopic, Topic
from heliograph.client.errors import IllegalState, InUse, InvalidSelector, MessagingProblem, Unsupported
from heliograph.errors import InvalidInput

OUTCOMES = ("amqp:accepted:list", "amqp:rejected:list", "amqp:released:list", "amqp:modified:list")
"""What we may say of a delivery, and take as the outcome of one of ours."""
_SELECTOR = ULong(0x0000468C00000004)
_NO_LOCAL = ULong(0x0000468C00000003)


@dataclass(frozen=True)
class Subscription:
    """Everything that decides which messages a consumer gets."""

    destination: Destination
    link_name: str
    selector: str = ""
    no_local: bool = False
    durable: bool = False
    shared: bool = False
    global_: bool = False
    """A shared subscription of a connection without a client id: other such connections share it, too."""
    browse: bool = False
    reserved: tuple[str, bool, bool, int] | None = None
    """What `SubscriptionNames` knows a named subscription by."""

    def source(self, address_of: Callable[[Destination], str], *, reports_received: bool) -> Source:
        """The source to attach to. `reports_received`: received messages are reported before they are settled."""
        # Then messages that were only prefetched do not count as failed when the link is lost.
        fate = Released() if reports_received else Modified(delivery_failed=True)
        capabilities = [self.destination.capability]
        if self.shared:
            capabilities.append("shared")
        if self.global_:
            capabilities.append("global")
        return Source(
            address=address_of(self.destination),
            durable=Durability.UNSETTLED_STATE if self.durable else Durability.NONE,
            expiry_policy=ExpiryPolicy.NEVER if self.durable else ExpiryPolicy.LINK_DETACH,
            distribution_mode=DistributionMode.COPY if self.browse or self.durable else None,
            filter=self._filters() or None,
            default_outcome=fate,
            outcomes=OUTCOMES,
            capabilities=tuple(capabilities),
        )

    def _filters(self) -> dict[str, Described]:
        filters = {}
        if self.selector:
            filters["jms-selector"] = Described(_SELECTOR, self.selector)
        if self.no_local:
            filters["no-local"] = Described(_NO_LOCAL, "NoLocalFilter{}")
        return filters

    def settle_mode(self, mode: Acknowledge) -> SenderSettleMode:
        """Whether the server forgets messages as it sends them."""
        if self.browse or mode is Acknowledge.NONE:
            return SenderSettleMode.SETTLED
        return SenderSettleMode.UNSETTLED

    @property
    def desired(self) -> tuple[str, ...]:
        """What the server must be able to do for this."""
        return ("SHARED-SUBS",) if self.shared else ()

    def unmet(self, link: Receiver, capabilities: frozenset[str], *, trust_filters: bool) -> MessagingProblem | None:
        """What the server's answer shows that it cannot do, though this needs it."""
        remote = link.remote
        accepted = (remote.source.filter if remote is not None and remote.source is not None else None) or {}
        if not trust_filters:
            accepted = {}
        if self.selector and "jms-selector" not in accepted:
            text = f"the server has no selectors; it would send all messages, not only {self.selector!r}"
            return InvalidSelector(f"{self.destination}: {text}")
        if self.no_local and "no-local" not in accepted:
            return Unsupported(f"{self.destination}: the server does not support no_local")
        offered = capabilities if remote is None else capabilities.union(remote.offered_capabilities)
        if self.shared and "SHARED-SUBS" not in offered:
            return Unsupported(f"{self.destination}: the server does not support shared subscriptions")
        return None


class SubscriptionNames:
    """Which named subscriptions a connection has, and the names of their links."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._in_use: dict[tuple[str, bool, bool], set[int]] = {}

    def reserve(
        self, destination: Destination, name: str, *, durable: bool, shared: bool, selector: str, no_local: bool
    ) -> Subscription:
        """A subscription by that name for one more consumer; `release` gives it back."""
        if not isinstance(destination, Topic | TemporaryTopic):
            raise InvalidInput(f"only a topic can be subscribed to, and {destination} is not one")
        if not name or "|" in name:
            raise InvalidInput(f"the name of a subscription is not empty and has no |, {name!r} will not do")
        if not (durable or shared):
            raise InvalidInput(f"the subscription {name!r} has a name, so it must be durable, shared or both")
        if not shared and not self._client_id:
            raise IllegalState(f"the durable subscription {name!r} belongs to a client: connect with a client_id")
        numbers = self._in_use.setdefault((name, durable, shared), set())
        if numbers and not shared:
            raise InUse(f"the subscription {name!r} has a consumer on this connection already")
        number = next(n for n in range(1, len(numbers) + 2) if n not in numbers)
        numbers.add(number)
        return Subscription(
            destination,
            self._link_name(name, number, durable=durable, shared=shared),
            selector=selector,
            no_local=no_local,
            durable=durable,
            shared=shared,
            global_=shared and not self._client_id,
            reserved=(name, durable, shared, number),
        )

    def release(self, subscription: Subscription) -> None:
        """A consumer of a subscription is closed."""
        if subscription.reserved is not None:
            *key, number = subscription.reserved
            numbers = self._in_use.get(tuple(key))  # type: ignore[arg-type]
            if numbers is not None:
                numbers.discard(number)

    def _link_name(self, name: str, number: int, *, durable: bool, shared: bool) -> str:
        if not shared:
            return name
        suffix = "" if self._client_id else "global"
        if not durable:
            return f"{name}|{suffix + '-' if suffix else ''}volatile{number}"
        if number > 1:
            suffix += str(number)
        return f"{name}|{suffix}" if suffix else name

    def to_unsubscribe(self, name: str) -> str:
        """The link name by which a durable subscription is found."""
        if any(numbers for (used, durable, _), numbers in self._in_use.items() if used == name and durable):
            raise InUse(f"the subscription {name!r} has a consumer; close it first")
        return name if self._client_id else f"{name}|global"
