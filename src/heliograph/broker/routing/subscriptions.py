"""MQTT subscriptions: made, changed and removed, alone or as members of a shared subscription.

A subscription of a durable session gets a spool when it first asks for QoS 1 or 2. When it ends, or asks for QoS 0
only, the spool is retired: messages in flight may still be acknowledged, the rest is forgotten.
"""

from heliograph.broker.core.services import Services
from heliograph.broker.core.slices import Steps
from heliograph.broker.routing.routes import RouteTable
from heliograph.broker.sessions.buffer import BufferTotals
from heliograph.broker.sessions.session import Session, ShareGroup, Subscription, subscription_cost
from heliograph.broker.sessions.spool import Spool
from heliograph.broker.storage.store import Store
from heliograph.mqtt import ProtocolError, Reason, check_topic_filter, packets, split_share


class Subscriptions:
    """All subscriptions of one broker (`broker.subscriptions`)."""

    def __init__(self, services: Services, store: Store | None, routes: RouteTable, held: BufferTotals) -> None:
        """`held` counts what waits in all buffers together."""
        self._services = services
        self._store = store
        self._routes = routes
        self._held = held
        self.groups: dict[tuple[str, str], ShareGroup] = {}
        """By name and filter."""
        self.count = 0

    def subscribe(self, session: Session, asked: packets.Subscription, identifier: int | None = None) -> Reason:
        """Add or change a subscription. Returns the reason code for SUBACK."""
        try:
            check_topic_filter(asked.filter)
            group_name, topic_filter = split_share(asked.filter)
        except ProtocolError as error:
            return error.reason
        if topic_filter.count("/") >= self._services.limits.topic_levels:
            return Reason.TOPIC_FILTER_INVALID
        subscription = session.subscriptions.get(asked.filter)
        if subscription is None:
            if len(session.subscriptions) >= self._services.limits.subscriptions_per_client:
                return Reason.QUOTA_EXCEEDED
            if not session.account.has_room(subscription_cost(asked.filter)):
                return Reason.QUOTA_EXCEEDED
            subscription = self._add(session, asked.filter, group_name, topic_filter)
        subscription.set_options(asked.qos, asked.no_local, asked.retain_as_published, identifier)
        if self._store is not None and session.number:
            self._keep(self._store, subscription)
        self._routes.forget(topic_filter)
        return Reason(asked.qos)

    def _keep(self, store: Store, subscription: Subscription) -> None:
        """Make or retire the spool of a subscription of a durable session, as its QoS demands."""
        group = subscription.group
        if subscription.qos and subscription.spool is None:
            subscription.spool = store.new_spool()
            if group is not None:
                group.spool = subscription.spool
                for member in group.members:
                    member.spool = group.spool
        elif not subscription.qos and group is None and subscription.spool is not None:
            self._leave_behind(subscription)
            self._retire(store, subscription.spool)
            subscription.spool = None
        store.note_subscribed(subscription)

    def _leave_behind(self, subscription: Subscription) -> None:
        """Give messages in flight to a copy of the subscription, as if the old one had been unsubscribed.

        So acknowledgements still find the retired cursor.
        """
        was = subscription.copy()
        window = subscription.session.window
        for flight in window.sent if window else ():
            if flight.subscription is subscription:
                flight.subscription = was

    def _retire(self, store: Store, spool: Spool) -> None:
        store.retire_spool(spool, in_flight=spool.cursor.pending > spool.count)

    def restore(self, session: Session, full: str, spool: Spool | None) -> Subscription:
        """Restore a subscription that was found in the log; ProtocolError if its filter is not valid."""
        check_topic_filter(full)
        group_name, topic_filter = split_share(full)
        subscription = self._add(session, full, group_name, topic_filter)
        group = subscription.group
        if group is None or spool is None:
            subscription.spool = group.spool if group else spool
        else:
            group.spool = spool
            for member in group.members:
                member.spool = spool
        return subscription

    def _add(self, session: Session, full: str, group_name: str | None, topic_filter: str) -> Subscription:
        group = None
        if group_name is not None:
            group = self.groups.get((group_name, topic_filter))
            if group is None:
                account = self._services.memory.account("shared subscription", full)
                group = self.groups[group_name, topic_filter] = ShareGroup(
                    group_name, topic_filter, self._held, account
                )
                self._routes.tree.add(topic_filter, group)
        subscription = session.subscriptions[full] = Subscription(session, full, group)
        session.account.add(subscription_cost(full))
        self.count += 1
        if group is None:
            self._routes.tree.add(topic_filter, subscription)
        else:
            group.members.append(subscription)
            if group.buffer.count or (group.spool and group.spool.count):
                session.note_backlog(subscription)
        return subscription

    def unsubscribe(self, session: Session, full: str) -> Reason:
        """Remove a subscription with its backlog. Returns the reason code for UNSUBACK."""
        subscription = session.subscriptions.get(full)
        if subscription is None:
            return Reason.NO_SUBSCRIPTION_EXISTED
        self._services.slices.do_all([self.remove(session, subscription)])
        return Reason.SUCCESS

    def remove(self, session: Session, subscription: Subscription) -> Steps | None:
        """Remove a subscription. Returns the steps that drop its backlog, which the caller runs."""
        full = subscription.filter
        del session.subscriptions[full]
        session.account.refund(subscription_cost(full))
        self.count -= 1
        if session.backlog:
            session.backlog.pop(subscription, None)
        group = subscription.group
        topic_filter = group.filter if group else full
        if self._store is not None:
            if session.number:
                self._store.note_unsubscribed(session, full)
            if subscription.spool is not None and (group is None or group.members == [subscription]):
                self._retire(self._store, subscription.spool)
        left: Steps | None = None
        if group is None:
            left = subscription.buffer.clear() if subscription.buffer is not None else None
            self._routes.tree.remove(full, subscription)
        else:
            group.members.remove(subscription)
            if not group.members:
                left = group.buffer.clear()
                del self.groups[group.name, group.filter]
                self._routes.tree.remove(group.filter, group)
        self._routes.forget(topic_filter)
        return left
