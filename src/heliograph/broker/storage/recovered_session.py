"""The state of one session while the log is read. Its records are applied in the order in which they were written."""

from typing import Any

from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.offline_sessions import OfflineSession, OfflineSubscription, options_of
from heliograph.log import Ranges, Record
from heliograph.mqtt import LAST_ID, check_topic_filter, split_share

Issued = tuple[int, int, int, int, int]
"""First identifier, count, QoS, number of the cursor, offset of the first message."""

_ISSUED_MOST = 4 * LAST_ID


class RecoveredSession:
    """The state of one session, as plain data: objects are made of it when the whole log has been read."""

    def __init__(self, fact: dict[str, Any], position: int) -> None:
        self.number: int = fact["session"]
        self.client: str = fact["client"]
        self.position = position
        self.presence = fact
        self.received: set[int] = set(fact["received"])
        self.next_id: int = fact["next_id"]
        self.issued: list[Issued] = [(*map(int, one),) for one in fact["sent"]]  # type: ignore[misc]
        self.released = Ranges((first, first + count) for first, count in fact["released"])
        self.subscriptions: dict[str, dict[str, Any]] = {one["filter"]: one for one in fact["subscriptions"]}
        self.retired: list[dict[str, Any]] = fact["retired"]

    def record(self) -> Record:
        """The whole state as a SESSION record."""
        fact = {
            **self.presence,
            "session": self.number,
            "client": self.client,
            "received": sorted(self.received),
            "next_id": self.next_id,
            "sent": self.issued,
            "released": [[lo, hi - lo] for lo, hi in self.released],
            "subscriptions": list(self.subscriptions.values()),
            "retired": self.retired,
        }
        return Record(self.position, record_kinds.SESSION, record_kinds.as_json(fact))

    def packed(self) -> bytes | None:
        """The short form; None if that has no room for the state, or the state makes no sense."""
        presence = self.presence
        simple = not (presence["will"] or self.received or self.issued or self.released.count or self.retired)
        if presence["away"] is None or not simple:
            return None
        try:
            subscriptions = list(map(_packed, self.subscriptions.values()))
            away = OfflineSession(
                self.number, self.client, presence["expiry"], presence["away"], self.next_id, subscriptions
            )
            return away.encode()
        except Exception:  # no server wrote this record: `session_recovery` reports what is wrong with it
            return None

    def issue(self, first: int, count: int, qos: int, cursor: int, offset: int) -> None:
        """Note that messages were sent with these identifiers."""
        self.issued.append((first, count, qos, cursor, offset))
        if len(self.issued) > _ISSUED_MOST:
            self.forget_used_again()
        self.next_id = first + count if first + count <= LAST_ID else 1

    def forget_used_again(self) -> None:
        """Drop earlier uses of identifiers that were used again: they had been acknowledged, or they were not free."""
        used = Ranges()
        kept: list[Issued] = []
        for one in reversed(self.issued):
            if used.within(one[0], one[0] + one[1]) < one[1]:
                kept.append(one)
                used.add(one[0], one[0] + one[1])
        self.issued = kept[::-1]


def _packed(fact: dict[str, Any]) -> OfflineSubscription:
    check_topic_filter(fact["filter"])
    if fact["qos"] not in {0, 1, 2}:
        raise ValueError(fact["qos"])
    options = options_of(fact["qos"], no_local=fact["no_local"], retain_as_published=fact["retain_as_published"])
    return OfflineSubscription(fact["filter"], fact["cursor"], options, bytes.fromhex(fact["extra"]))


def apply(kept: RecoveredSession, move: record_kinds.Move) -> None:
    """Apply a move to the session."""
    ids = move.first, move.first + move.number
    if move.what == record_kinds.ISSUED:
        kept.issue(move.first, move.number, move.qos, move.cursor, move.offset)
    elif move.what == record_kinds.RECEIVED:
        kept.released.add(*ids)
    elif move.what == record_kinds.COMPLETED:
        kept.released.remove(*ids)
    elif move.what == record_kinds.TAKEN:
        kept.received.update(range(*ids))
    elif move.what == record_kinds.RELEASED:
        kept.received.difference_update(range(*ids))


def without_shared(kept: RecoveredSession) -> list[Issued]:
    """What is in flight, without QoS 1 messages of shared subscriptions: after a disconnect others get those."""
    shared = {one["cursor"] for one in kept.subscriptions.values() if split_share(one["filter"])[0] is not None}
    return [one for one in kept.issued if one[2] == 2 or one[3] not in shared]
