"""A client's end of an MQTT session: bytes in, events out, and bytes to be written. No sockets and no clock.

Theory of operation

1. A `ClientSession` outlives its network connections. For each of them the owner calls `open(connect, now)`, writes
   what `take_output()` gives, hands what comes from the network to `receive(data, now)`, and handles the events that
   this returns. When the network connection is gone it calls `lost()`, and `open` again when there is another one.
2. A connection is *closed* (before `open`), *opening* (CONNECT is written, CONNACK is awaited), *connected* or
   *over*. `Connected` makes it connected. `Refused`, `Disconnected` and `Failed` end it, and so does `disconnect`:
   the owner writes what is left in the output and closes the network connection. Nothing but AUTH goes out before
   CONNACK.
3. The state of the session is ahead of events: when the owner sees the first event of a list, all of them have
   happened.
4. Time is handed in. `tick(now)` writes PINGREQ when one is due, ends a connection whose server is silent, and says
   when it wants to be called next. How long to wait for CONNACK, SUBACK and acknowledgements is the owner's decision.

What is published (`in_flight.py`)

5. `publish` takes as many messages as the server allows to be in flight (receive maximum), and says which: each
   message of QoS 1 and 2 has a number, which grows by one and never wraps. There is no queue here: what was not taken
   stays with the owner. The packet identifier of number n is n % 65535 + 1; SUBSCRIBE and UNSUBSCRIBE take numbers,
   too.
6. A message is *sent*, then (QoS 2) *releasing*, then *done*. PUBACK and PUBREC make it `Acknowledged`: from then on
   the server answers for it. A message of QoS 2 counts as in flight until PUBCOMP.
7. A connection that finds its session present sends again, in order: PUBREL for what was releasing, then PUBLISH with
   DUP for what was sent, as far as receive maximum allows; nothing new goes out before the last of them. Without a
   session all is forgotten, and `Forgotten` says which messages nobody acknowledged. Requests that a lost connection
   leaves without an answer are forgotten always.

What arrives (`arrivals.py`)

8. An *arrival* is something that the server wants acknowledged: `Messages` (a run of one topic), `Repeated` (messages
   of QoS 2 that the owner has had before) or `Released` (the server knows that these have arrived). By default they
   are acknowledged at once, and the owner sees `Messages` only. With `manual=True` the owner calls `acknowledge`, in
   the order in which arrivals came, when everything up to there is safe.
9. `received` has the packet identifiers of all messages of QoS 2 that the owner was given and the server has not
   released. Whatever has one of these comes as `Repeated`: so exactly once is a promise about what is *given* to the
   owner, who keeps it even if the connection is lost before it is acknowledged. An owner that survives its process
   stores `received` together with the messages, before it acknowledges, and hands it to the session of the next
   process.
10. Acknowledging an arrival of an earlier connection does nothing: the server sends it again, as `Messages` (QoS 1)
   or as `Repeated`. A connection without a session present begins with an empty `received`.

Invariants: numbers are acknowledged or forgotten once; identifiers in flight are distinct; nothing in flight exceeds
what the server allows; what the server may leave unacknowledged is what our receive maximum allows, or the connection
fails.
"""

from heliograph.mqtt.client.events import (
    Acknowledged,
    Arrival,
    Connected,
    Disconnected,
    Event,
    Failed,
    Forgotten,
    Messages,
    Refused,
    Released,
    Repeated,
)
from heliograph.mqtt.client.session import ClientSession

__all__ = [
    "Acknowledged",
    "Arrival",
    "ClientSession",
    "Connected",
    "Disconnected",
    "Event",
    "Failed",
    "Forgotten",
    "Messages",
    "Refused",
    "Released",
    "Repeated",
]
