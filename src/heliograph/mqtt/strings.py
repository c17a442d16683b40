"""UTF-8 strings, topic names and topic filters: what the standard lets them contain."""

import re

from heliograph.mqtt.errors import MalformedPacket, ProtocolError
from heliograph.mqtt.reasons import Reason

STRING_MAX = 65_535

# The second prefix is what servers used before MQTT 5 made the first one the standard.
_SHARE_PREFIXES = ("$share/", "$SharedSubscription/")

# Control characters, and code points that Unicode promises never to be characters. The standard says that strings
# should not have them, and lets a server refuse them. Half of a surrogate pair is forbidden anyway.
_PLANE_ENDS = "".join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17))
_UNPRINTABLE = re.compile(f"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{_PLANE_ENDS}]")


def decode_utf8(raw: bytes) -> str:
    """The string that these bytes of a packet hold; ill-formed UTF-8 and U+0000 make the packet malformed."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise MalformedPacket(f"ill-formed UTF-8 at byte {error.start} of a string: {error.reason}") from None
    if "\0" in text:
        raise MalformedPacket("string contains U+0000")
    return text


def check_characters(text: str, what: str) -> None:
    """Raise MalformedPacket if there are control characters or noncharacters in a name that people get to see."""
    if text.isprintable():  # nearly always, and known at once; it is stricter than the rule
        return
    found = _UNPRINTABLE.search(text)
    if found is not None:
        raise MalformedPacket(f"{what} {text!r} contains U+{ord(found[0]):04X}")


def check_topic_name(topic: str) -> None:
    """Raise ProtocolError (TOPIC_NAME_INVALID) unless the standard allows messages on this topic."""
    _check_length(topic, "topic name", Reason.TOPIC_NAME_INVALID)
    if "+" in topic or "#" in topic:
        raise ProtocolError(Reason.TOPIC_NAME_INVALID, f"topic name {topic!r} contains a wildcard")


def check_topic_of_client(topic: str) -> None:
    """Raise ProtocolError unless a client of ours may publish to this topic.

    A server may be stricter than the standard. Those who read from other servers take what these let through.
    """
    check_topic_name(topic)
    check_characters(topic, "topic name")
    if topic == "$share":
        raise MalformedPacket("topic name '$share' is the beginning of a shared subscription")


def check_topic_filter(topic_filter: str) -> None:
    """Raise ProtocolError (mostly TOPIC_FILTER_INVALID) unless one can subscribe to this filter, shared or not."""
    _check_length(topic_filter, "topic filter", Reason.TOPIC_FILTER_INVALID)
    check_characters(topic_filter, "topic filter")
    _, plain = split_share(topic_filter)
    _check_wildcards(plain)


def split_share(topic_filter: str) -> tuple[str | None, str]:
    """The group of a shared subscription, None if it is not shared, and the filter that it reads.

    Raises ProtocolError (TOPIC_FILTER_INVALID) when it starts like a shared subscription but does not go on like one.
    """
    if not topic_filter.startswith("$"):  # nearly always
        return None, topic_filter
    prefix = next((prefix for prefix in _SHARE_PREFIXES if f"{topic_filter}/".startswith(prefix)), None)
    if prefix is None:
        return None, topic_filter
    group, _, plain = topic_filter.removeprefix(prefix).partition("/")
    if not group or not plain or "+" in group or "#" in group:
        expected = f"{prefix}GROUP/FILTER, with no wildcard in GROUP"
        raise ProtocolError(Reason.TOPIC_FILTER_INVALID, f"shared subscription {topic_filter!r} is not {expected}")
    _check_wildcards(plain)
    return group, plain


def _check_length(text: str, what: str, reason: Reason) -> None:
    if not text:
        raise ProtocolError(reason, f"{what} is empty")
    if "\0" in text:
        raise ProtocolError(reason, f"{what} {text!r} contains U+0000")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise MalformedPacket(f"{what} is no text that UTF-8 has: {error.reason}") from None
    if size > STRING_MAX:
        raise ProtocolError(reason, f"{what} is longer than {STRING_MAX} bytes")


def _check_wildcards(topic_filter: str) -> None:
    if "+" not in topic_filter and "#" not in topic_filter:
        return
    levels = topic_filter.split("/")
    if any("+" in level and level != "+" for level in levels):
        raise ProtocolError(Reason.TOPIC_FILTER_INVALID, f"+ is not a whole level in topic filter {topic_filter!r}")
    if levels[-1] == "#":
        levels.pop()
    if any("#" in level for level in levels):
        raise ProtocolError(
            Reason.TOPIC_FILTER_INVALID, f"# is not the whole last level in topic filter {topic_filter!r}"
        )


def topic_matches(topic_filter: str, topic: str) -> bool:
    """Whether messages on this topic go to this filter. Both must be valid; shared filters are split before."""
    if topic.startswith("$") and topic_filter[0] in "+#":
        return False  # the standard keeps a server's own topics from wildcards at the first level
    wanted = topic_filter.split("/")
    levels = topic.split("/")
    if wanted[-1] == "#":
        wanted.pop()  # also stands for the parent level itself, so nothing needs to be left for it
        levels = levels[: len(wanted)]
    return len(wanted) == len(levels) and all(want in ("+", level) for want, level in zip(wanted, levels, strict=True))
