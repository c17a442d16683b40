"""mosquitto_sub as a durable subscriber: a client of others, in another language, with its own idea of a reconnect.

With QoS 1 only. libmosquitto (2.0.11) does not notice that a QoS 2 message that comes again after a reconnect is one
that it holds already: it keeps both, gives one to the application on PUBREL, and the other on the PUBREL of the next
message with that identifier. The first message so arrives twice and the next never, whatever the server does.
"""

import subprocess
import threading
from collections import defaultdict

from faults.durable_clients import News, arrival_of
from faults.history import Subscriber
from running import PATIENCE
from tools import program

REMEDY = "install the package mosquitto-clients"


class MosquittoSubscriber:
    """A mosquitto_sub in MQTT 3.1.1 that connects again by itself, a second after it has lost its connection."""

    def __init__(self, port: int, news: News, notes: Subscriber) -> None:
        self.notes, self.name = notes, notes.name
        self.seen: defaultdict[str, set[int]] = defaultdict(set)
        self.subscribed = False
        self._news = news
        line_by_line = [program("stdbuf", "install the package coreutils"), "-oL"]
        address = ["-h", "127.0.0.1", "-p", str(port)]
        session = ["-i", notes.name, "-c", "-q", str(notes.qos), "-t", notes.filter]
        command = [program("mosquitto_sub", REMEDY), *address, *session, "-d", "-F", "MESSAGE %t %q %p"]
        self._command = [*line_by_line, *command]

    def start(self) -> None:
        """Start it; the server has to be there, as mosquitto_sub wants its first connection at once."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._reading.join(PATIENCE)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(b"MESSAGE "):
                _, topic, qos, payload = line.rstrip(b"\n").split(b" ", 3)
                # Its connections cannot be told apart: one for each arrival leaves the rule about first arrivals.
                count = len(self.notes.arrivals) + 1
                arrival = arrival_of(topic.decode(), payload, int(qos), False, count)
                self.notes.arrivals.append(arrival)
                self.seen[arrival.topic].add(arrival.number)
                self._news.tell()
            elif line.startswith(b"Subscribed "):
                self.subscribed = True
                self._news.tell()
