"""UTF-8 strings, topic names and topic filters: what the standard lets them contain."""

from heliograph.mqtt.errors import MalformedPacket, ProtocolError
from heliograph.mqtt.reasons import Reason

STRING_MAX = 65_535

# The second prefix is what servers used before MQTT 5 made the first one the standard.
_SHARE_PREFIXES = ("$share/", "$SharedSubscription/")


def decode_utf8(raw: bytes) -> str:
    """The string that these bytes of a packet hold; ill-formed UTF-8 and U+0000 make the packet malformed."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise MalformedPacket(f"ill-formed UTF-8 at byte {error.start} of a string: {error.reason}") from None
    if "\0" in text:
        raise MalformedPacket("string contains U+0000")
    return text


def check_topic_name(topic: str) -> None:
    """Raise ProtocolError (TOPIC_NAME_INVALID) unless messages can be published to this topic."""
    _check_length(topic, "topic name", Reason.TOPIC_NAME_INVALID)
    if "+" in topic or "#" in topic:
        raise ProtocolError(Reason.TOPIC_NAME_INVALID, f"topic name {topic!r} contains a wildcard")


def check_topic_filter(topic_filter: str) -> None:
    """Raise ProtocolError (TOPIC_FILTER_INVALID) unless one can subscribe to this filter, shared or not."""
    _check_length(topic_filter, "topic filter", Reason.TOPIC_FILTER_INVALID)
    _, plain = split_share(topic_filter)
    _check_wildcards(plain)


def split_share(topic_filter: str) -> tuple[str | None, str]:
    """The group of a shared subscription, None if it is not shared, and the filter that it reads.

    Raises ProtocolError (TOPIC_FILTER_INVALID) when it starts like a shared subscription but does not go on like one.
    """
    prefix = next((prefix for prefix in _SHARE_PREFIXES if topic_filter.startswith(prefix)), None)
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
        raise ProtocolError(reason, f"{what} is no text that UTF-8 has: {error.reason}") from None
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
