"""UTF-8 strings (MQTT 5, section 1.5.4), topic names and topic filters (4.7), shared subscriptions (4.8.2)."""

import re

from heliograph.mqtt.errors import MalformedPacket, ProtocolError
from heliograph.mqtt.reasons import Reason

STRING_MAX = 65_535

# Servers used the second prefix before MQTT 5 standardised the first.
_SHARE_PREFIXES = ("$share/", "$SharedSubscription/")

# Control characters and Unicode noncharacters: strings SHOULD NOT contain them, and a receiver MAY treat them as a
# malformed packet (section 1.5.4). Surrogates are forbidden [MQTT-1.5.4-1].
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
    if text.isprintable():  # the usual case, and fast; it is stricter than the rule, so False needs the search below
        return
    found = _UNPRINTABLE.search(text)
    if found is not None:
        raise MalformedPacket(f"{what} {text!r} contains U+{ord(found[0]):04X}")


def check_topic_name(topic: str) -> None:
    """Raise ProtocolError (TOPIC_NAME_INVALID) unless the standard allows messages on this topic."""
    _check_length(topic, "topic name", Reason.TOPIC_NAME_INVALID)
    # [MQTT-3.3.2-2]
    if "+" in topic or "#" in topic:
        raise ProtocolError(Reason.TOPIC_NAME_INVALID, f"topic name {topic!r} contains a wildcard")


def check_topic_of_client(topic: str) -> None:
    """Raise ProtocolError unless a client of ours may publish to this topic.

    This is stricter than the standard, which a server may be. Code that reads from other servers must accept what those
    servers accept, and uses `check_topic_name`.
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
    # [MQTT-4.8.2-1] and [MQTT-4.8.2-2]
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
    # [MQTT-4.7.1-1] for #, [MQTT-4.7.1-2] for +: each must be a whole level, and # must be the last one.
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
        return False  # [MQTT-4.7.2-1]: a wildcard at the first level does not match topics that begin with $
    wanted = topic_filter.split("/")
    levels = topic.split("/")
    if wanted[-1] == "#":
        wanted.pop()  # "sport/#" also matches "sport" (section 4.7.1.2), so no level needs to be left for it
        levels = levels[: len(wanted)]
    return len(wanted) == len(levels) and all(want in ("+", level) for want, level in zip(wanted, levels, strict=True))
