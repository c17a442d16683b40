"""What goes wrong with MQTT: on the wire, with the reason code that tells the other side, and in a client session."""

from heliograph.errors import HeliographError, Problem
from heliograph.mqtt.reasons import Reason


class MqttError(HeliographError):
    """Root of all errors of MQTT."""


class ProtocolError(MqttError):
    """The other side broke a rule of the standard; `reason` is the code that the standard names for it."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class MalformedPacket(ProtocolError):
    """Bytes that cannot be parsed as the packet they claim to be."""

    def __init__(self, text: str) -> None:
        super().__init__(Reason.MALFORMED_PACKET, text)


class ClientSessionError(MqttError, Problem):
    """A client session cannot do what its owner asks for; nothing has been sent."""


class NotConnected(ClientSessionError):
    """There is no connection, or none that this can be asked of."""


class NoIdentifierLeft(ClientSessionError):
    """All 65,535 packet identifiers are in flight; acknowledgements make some free."""


class ServerLimit(ClientSessionError):
    """The server has said that it does not take this: the QoS, retained messages, or packets of this size."""
