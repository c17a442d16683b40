"""Scripted clients of a broker without a network: what they send is encoded, what they get is decoded."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

from heliograph.broker.broker import Broker
from heliograph.broker.core.limits import Limits
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.timers import Clock
from heliograph.broker.mqtt.connection import MqttConnection
from heliograph.broker.storage.store import Store
from heliograph.log.log import LogOptions
from heliograph.log.segment import read_segment, segment_files
from heliograph.mqtt import (
    ConnAck,
    Connect,
    Disconnect,
    Packet,
    PubAck,
    PubComp,
    Publish,
    PubRec,
    PubRel,
    Reason,
    SubAck,
    Subscribe,
    Subscription,
    UnsubAck,
    Unsubscribe,
    decode,
    encode,
    packet_bounds,
)

START = 1000.0
WALL = 1_700_000_000.0


def decode_all(data: bytes, version: int) -> list[Packet]:
    """The packets that fill `data` exactly."""
    found = []
    pos = 0
    while pos < len(data):
        bounds = packet_bounds(data, pos, 1 << 30, version)
        assert bounds is not None
        body, end = bounds
        assert end <= len(data)
        found.append(decode(data[pos], data[body:end], version))
        pos = end
    return found


class OpenAuthenticator:
    """Lets everybody in at once."""

    anonymous = True
    proven_user = None

    def check(self, outlet, user, password, verdict):
        verdict(Reason.SUCCESS, "", None)


class Scene:
    """One broker, its clock and its clients."""

    def __init__(self, **limits):
        self.now = START
        self.names = 0
        self._in_turn = False
        self.broker = Broker(Limits(**limits), lambda: self.now, self._new_name)

    def _new_name(self):
        self.names += 1
        return f"assigned-{self.names}"

    def pass_time(self, seconds):
        """Turn the clock, in one go, and do what is due."""
        self.now += seconds
        self.broker.timers.run(self.now)
        self.turn_ends()

    def turn_ends(self):
        """Something has happened: without a store there is nothing to wait for behind that."""
        if not self._in_turn:
            self.broker.turn.end()

    @contextmanager
    def one_turn(self):
        """What clients send meanwhile comes in one turn of the server."""
        self._in_turn = True
        yield
        self._in_turn = False
        self.turn_ends()

    def run_slices(self):
        """Do all work that is done bit by bit; how many slices that took."""
        slices = 0
        while self.broker.slices.busy:
            self.broker.slices.run()
            slices += 1
        return slices

    def stranger(self, version=4, authenticator=None):
        """A client that has a network connection, but has not sent CONNECT."""
        return Client(self, version, authenticator or OpenAuthenticator())

    def client(self, client_id="", version=5, *, clean=True, keep_alive=0, will=None, authenticator=None, **properties):
        """A client that has sent CONNECT; its answer is in `connack`."""
        client = self.stranger(version, authenticator)
        client.connect(client_id, clean=clean, keep_alive=keep_alive, will=will, **properties)
        return client


class DurableScene(Scene):
    """A broker with a store. After each thing that happens, all of it becomes safe, unless `held` is used."""

    def __init__(self, directory: Path, **limits):
        super().__init__(**limits)
        self.directory = directory
        self.limits = limits
        self._lives = 0
        self._held = False
        self._start(directory / "0")

    options = LogOptions(force=False, retry=0.01)
    """How the log is kept."""

    def wake(self):
        """Something has become safe, the log's thread says."""

    def _start(self, directory):
        self.log = directory
        clock = Clock(lambda: self.now, lambda: self.now + WALL)
        self.store = Store(directory, clock, self.wake, self.options)
        self.broker = Broker(Limits(**self.limits), lambda: self.now, self._new_name, store=self.store)

    def turn_ends(self):
        """What the server does at the end of a turn, and when the log says that it is safe."""
        if self._in_turn:
            return
        if self._held:
            self.broker.batches.publish()
            return
        store = self.store
        while True:
            self.broker.turn.end()
            assert store.ledger.wait()
            self.broker.turn.more_is_safe()
            if not (store.settled or store._issued or store._moves or not self.broker.turn.held.is_empty):
                break

    @contextmanager
    def held(self):
        """Meanwhile nothing becomes safe: all of it is one turn, which ends afterwards."""
        self._held = True
        yield
        self._held = False
        self.turn_ends()

    def stop_the_clock_of_the_log(self):
        """From now on nothing becomes safe any more; what follows is lost in a crash."""
        self._held = True

    def restart(self, *, crash=True, cut=None):
        """Another broker takes over what is in the log; after a crash, what was safe, and clients are not told.

        With `cut`, the crash has left nothing from that position on, which must be in the newest segment.
        """
        self._lives += 1
        old = self.store
        directory = self.log
        if crash:
            directory = self.directory / str(self._lives)
            shutil.copytree(self.log, directory)
            if cut is not None:
                newest = segment_files(directory)[-1]
                os.truncate(newest, read_segment(newest).place(cut))
        else:
            self.broker.stopping = True
            for connection in list(self.broker.connections.values()):
                connection.end(Reason.SERVER_SHUTTING_DOWN, "", publish_will=False)
            self.turn_ends()
            old.close()
        if crash:
            old.ledger.close()
        self._held = False
        self._start(directory)

    def close(self):
        self.store.ledger.close()


class Client:
    """One end of a connection; the broker has the other."""

    def __init__(self, scene, version, authenticator):
        self.scene = scene
        self.broker = scene.broker
        self.version = version
        self.outlet = Outlet()
        self.connection = MqttConnection(scene.broker, self.outlet, authenticator)
        self.connack = None
        self._inbox = []
        self._next_id = 1

    # Sending

    def send_bytes(self, data):
        self.connection.receive(data)
        self.scene.turn_ends()

    def send(self, *packets):
        """Send these packets in one piece."""
        self.send_bytes(b"".join(encode(packet, self.version) for packet in packets))

    def connect(self, client_id, *, clean=True, keep_alive=0, will=None, **properties):
        self.send(Connect(client_id, self.version, clean, keep_alive, will=will, properties=properties))
        self._collect()
        if self._inbox and isinstance(self._inbox[0], ConnAck):
            self.connack = self._inbox.pop(0)

    def subscribe(self, topic_filter, qos=0, *, identifier=None, **options):
        """Subscribe to one filter; the code that SUBACK has for it."""
        properties = {} if identifier is None else {"subscription_identifier": [identifier]}
        self.send(Subscribe(self._new_id(), (Subscription(topic_filter, qos, **options),), properties))
        return self._pop(SubAck).reasons[0]

    def unsubscribe(self, *filters):
        """Unsubscribe; the codes of UNSUBACK."""
        self.send(Unsubscribe(self._new_id(), filters))
        return self._pop(UnsubAck).reasons

    def publish(self, topic, payload=b"", qos=0, *, retain=False, dup=False, packet_id=None, **properties):
        """Publish one message; at QoS 1 or 2, the answer if there is one."""
        if qos and packet_id is None:
            packet_id = self._new_id()
        self.send(Publish(topic, payload, qos, retain, dup, packet_id or 0, properties))
        if not qos:
            return None
        self._collect()
        return self._pop(PubAck if qos == 1 else PubRec) if not self.ended else None

    def disconnect(self, reason=Reason.NORMAL_DISCONNECTION, **properties):
        self.send(Disconnect(reason, properties))

    def lose(self):
        """The network connection breaks."""
        self.connection.lost()
        self.scene.turn_ends()

    def acknowledge(self, *messages):
        """PUBACK, or all of PUBREC and PUBCOMP, for messages that came."""
        for message in messages:
            if message.qos == 1:
                self.send(PubAck(message.packet_id))
            else:
                self.send(PubRec(message.packet_id))
                assert self._pop(PubRel) == PubRel(message.packet_id)
                self.send(PubComp(message.packet_id))

    def _new_id(self):
        self._next_id += 1
        return self._next_id - 1

    # Receiving

    @property
    def ended(self):
        """The broker is through with this connection."""
        return self.outlet.finished

    def take(self):
        """Everything that has come since the last time."""
        self._collect()
        taken, self._inbox = self._inbox, []
        return taken

    def messages(self):
        """The messages that have come since the last time; nothing else has come."""
        taken = self.take()
        assert all(isinstance(packet, Publish) for packet in taken), taken
        return taken

    def payloads(self):
        return [message.payload for message in self.messages()]

    def _collect(self):
        chunks, self.outlet.chunks = self.outlet.chunks, []
        dirty = self.broker.turn.dirty
        if chunks:
            assert dirty.count(self.outlet) == 1, "an outlet with chunks is on the list of dirty ones, once"
            dirty.remove(self.outlet)
        self._inbox += decode_all(b"".join(chunks), self.version)

    def _pop(self, kind):
        """The oldest packet of a kind, out of the packets that have come."""
        self._collect()
        packet = next((packet for packet in self._inbox if isinstance(packet, kind)), None)
        assert packet is not None, f"no {kind.__name__} in {self._inbox}"
        self._inbox.remove(packet)
        return packet
