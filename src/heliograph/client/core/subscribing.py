"""The names of links that are subscriptions: a server knows a subscription by the name of its link."""

from heliograph.client.core.subscriptions import Subscription
from heliograph.client.destination import Destination, TemporaryTopic, Topic
from heliograph.client.errors import IllegalState, InUse
from heliograph.errors import Problem


class SubscriptionNames:
    """Which named subscriptions a connection has, and the names of their links."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._in_use: dict[tuple[str, bool, bool], set[int]] = {}

    def reserve(
        self, place: Destination, name: str, *, durable: bool, shared: bool, selector: str, no_local: bool
    ) -> Subscription:
        """A subscription by that name for one more consumer; `release` gives it back."""
        if not isinstance(place, Topic | TemporaryTopic):
            raise Problem(f"only a topic can be subscribed to, and {place} is not one")
        if not name or "|" in name:
            raise Problem(f"the name of a subscription is not empty and has no |, {name!r} will not do")
        if not (durable or shared):
            raise Problem(f"the subscription {name!r} has a name, so it must be durable, shared or both")
        if not shared and not self._client_id:
            raise IllegalState(f"the durable subscription {name!r} belongs to a client: connect with a client_id")
        numbers = self._in_use.setdefault((name, durable, shared), set())
        if numbers and not shared:
            raise InUse(f"the subscription {name!r} has a consumer on this connection already")
        number = next(n for n in range(1, len(numbers) + 2) if n not in numbers)
        numbers.add(number)
        return Subscription(
            place,
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
