"""What goes wrong on the wire, with the reason code that tells the other side."""

from heliograph.mqtt.reasons import Reason


class ProtocolError(Exception):
    """The other side broke a rule of the standard; `reason` is the code that the standard names for it."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class MalformedPacket(ProtocolError):
    """Bytes that cannot be parsed as the packet they claim to be."""

    def __init__(self, text: str) -> None:
        super().__init__(Reason.MALFORMED_PACKET, text)
