"""What a consumer is attached to: the source of its link, and the name that makes it a subscription."""

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
from heliograph.client.core.acknowledging import Acknowledge
from heliograph.client.core.transaction import OUTCOMES
from heliograph.client.destination import Destination
from heliograph.client.errors import InvalidSelector, MessagingProblem, Unsupported

_SELECTOR = ULong(0x0000468C00000004)
_NO_LOCAL = ULong(0x0000468C00000003)


@dataclass(frozen=True)
class Subscription:
    """Everything that decides which messages a consumer gets."""

    place: Destination
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

    def source(self, address_of: Callable[[Destination], str], *, tells: bool) -> Source:
        """The source to attach to. `tells`: the server will hear what the application has received."""
        # Then what was only fetched ahead has not failed when the link is lost.
        fate = Released() if tells else Modified(delivery_failed=True)
        capabilities = [self.place.capability]
        if self.shared:
            capabilities.append("shared")
        if self.global_:
            capabilities.append("global")
        return Source(
            address=address_of(self.place),
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
            return InvalidSelector(
                f"{self.place}: the server has no selectors; it would send all messages, not only {self.selector!r}"
            )
        if self.no_local and "no-local" not in accepted:
            return Unsupported(f"{self.place}: the server does not support no_local")
        offered = capabilities if remote is None else capabilities.union(remote.offered_capabilities)
        if self.shared and "SHARED-SUBS" not in offered:
            return Unsupported(f"{self.place}: the server does not support shared subscriptions")
        return None
