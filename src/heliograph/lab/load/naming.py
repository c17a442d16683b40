"""The names that the patterns of a group stand for: topics, filters, client identifiers."""

from heliograph.lab.errors import InvalidLoad
from heliograph.lab.load.plan import Group


def expand(pattern: str, group: Group, client: int, topic: int = 0) -> str:
    """The pattern with the numbers of this client, all of one length."""
    if "{" not in pattern:
        return pattern
    partition = client % group.destinations
    try:
        return pattern.format(
            group=group.name,
            client=_padded(client, group.clients),
            partition=_padded(partition, group.destinations),
            topic=_padded(topic, group.topics),
        )
    except (KeyError, IndexError, ValueError) as problem:
        known = "{client}, {partition}, {topic} or {group}"
        raise InvalidLoad(f"{pattern!r} of group {group.name!r}: {problem}; expected {known}") from None


def _padded(number: int, of: int) -> str:
    return str(number).zfill(len(str(of - 1)))


def topics_of(group: Group, client: int) -> tuple[str, ...]:
    """What this client publishes to, one topic for each of its streams."""
    if group.members:
        return group.members[client].topics
    return tuple(expand(group.destination, group, client, topic) for topic in range(group.topics))


def filters_of(group: Group, client: int) -> tuple[str, ...]:
    """What this client subscribes to, without the prefix of shared subscriptions."""
    if group.members:
        return group.members[client].filters
    if group.role == "request":
        return (expand(group.reply, group, client),)
    if group.role == "both" and not group.filters:
        return topics_of(group, client)
    return tuple(expand(pattern, group, client) for pattern in group.filters)


def feeding(group: Group, client: int) -> tuple[str, ...]:
    """For each of its filters, the topic whose messages reach it."""
    if group.fed_by:
        return tuple(expand(pattern, group, client) for pattern in group.fed_by)
    return filters_of(group, client)


def identity_of(group: Group, client: int) -> tuple[str, str, str]:
    """Client identifier, user and password."""
    if group.members:
        member = group.members[client]
        return member.client_id, member.user, member.password
    return expand(group.client_id, group, client), expand(group.user, group, client), group.password


def share_of(group: Group, topic_filter: str) -> str | None:
    """What several clients have in common here, a shared subscription or a queue; None: each has its own."""
    if group.protocol == "amqp":
        if topic_filter.startswith("topic://"):
            return f"{group.shared}/{topic_filter}" if group.shared else None
        return topic_filter
    return f"{group.shared}/{topic_filter}" if group.shared else None
