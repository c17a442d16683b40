"""paho-mqtt without its one fault that would look like the server's.

After PUBREC a client sends PUBREL until PUBCOMP comes, and never PUBLISH again [MQTT-4.3.3]. paho keeps to that when it
reconnects once. When an attempt fails and it has to try again, it takes the message for one that was never sent, and
publishes it anew. A server that has finished with the first one must take that for a new message: it arrives twice, and
nobody but the client is to blame. A server that is killed makes for many failed attempts, hence this repair;
`test_repaired_paho.py` shows the fault, and fails when a later paho no longer has it.
"""

import paho.mqtt.client as paho
from paho.mqtt.enums import MessageState


class RepairedPaho(paho.Client):
    """A client that stays with PUBREL however often it has to try to connect."""

    def _messages_reconnect_reset_out(self) -> None:
        with self._out_message_mutex:
            released = [one for one in self._out_messages.values() if one.state == MessageState.MQTT_MS_RESEND_PUBREL]
            super()._messages_reconnect_reset_out()
            for one in released:
                one.state = MessageState.MQTT_MS_RESEND_PUBREL
