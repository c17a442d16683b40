"""What the AMQP engine costs for each message, in memory (`helio bench amqp`).

Two engines are connected; the cost of each step is CPU time divided by messages, the best of several rounds, because a
shared machine only ever adds to it.
"""

import time
from collections.abc import Callable
from functools import partial

from heliograph.amqp import (
    Accepted,
    Attached,
    Connection,
    Event,
    Opened,
    Options,
    Receiver,
    Sender,
    Target,
)
from heliograph.amqp.messages import Data, Message, decode_message, encode_message, peek, with_header

_RUN, _RUNS, _ROUNDS = 500, 40, 7
_READ = 65536  # what one read of a socket brings at most


class _Steps:
    """CPU seconds of each step; the best round counts."""

    def __init__(self) -> None:
        self.round: dict[str, float] = {}
        self.best: dict[str, float] = {}

    def measure(self, step: str, work: Callable[[], object]) -> None:
        start = time.process_time()
        work()
        self.round[step] = self.round.get(step, 0.0) + time.process_time() - start

    def end_round(self) -> None:
        for step, spent in self.round.items():
            self.best[step] = min(self.best.get(step, spent), spent)
        self.round.clear()

    def show(self, title: str, messages: int) -> None:
        print(title)
        for step, spent in self.best.items():
            print(f"  {step:44} {spent / messages * 1e6:7.3f} us")


def _taken(connection: Connection) -> bytes:
    connection.flush()
    output = b"".join(connection.output)
    connection.output = []
    return output


class _Ends:
    """A client that sends and a server that receives."""

    def __init__(self) -> None:
        self.client = Connection(Options("client"), server=False)
        self.server = Connection(Options("server", mechanisms=()), server=True)
        self.client.open()
        self.sender: Sender = self.client.begin().attach_sender("bench", Target("q"))
        self.receiver: Receiver | None = None
        for _ in range(3):
            self.serve(self.server.receive(_taken(self.client), 0.0))
            self.client.receive(_taken(self.server), 0.0)

    def serve(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Opened):
                self.server.open()
            elif isinstance(event, Attached) and isinstance(event.link, Receiver):
                event.link.accept()
                self.receiver = event.link

    def give_credit(self, credit: int) -> None:
        assert self.receiver is not None
        self.receiver.flow(credit)
        self.client.receive(_taken(self.server), 0.0)


def _read_in_pieces(connection: Connection, data: bytes, size: int) -> None:
    for at in range(0, len(data), size):
        connection.receive(data[at : at + size], 0.0)


def transfers(size: int, *, settled: bool, singly: bool) -> None:
    """Runs of messages, acknowledged as ranges or each on its own."""
    ends = _Ends()
    steps = _Steps()
    payload = encode_message(Message(Data(bytes(size))))
    state = Accepted()
    for _ in range(_ROUNDS):
        for _ in range(_RUNS):
            steps.measure("credit", lambda: ends.give_credit(_RUN))
            numbers = range(0)

            def send() -> None:
                nonlocal numbers
                if singly:
                    for _ in range(_RUN):
                        numbers = ends.sender.send([payload], settled=settled)
                else:
                    numbers = ends.sender.send([payload] * _RUN, settled=settled)

            steps.measure("send", send)
            data = _taken(ends.client)
            piece = len(data) // _RUN if singly else _READ
            steps.measure("receive", partial(_read_in_pieces, ends.server, data, piece))
            if not settled:
                _acknowledge(ends, steps, numbers[-1], singly, state)
        steps.end_round()
    kind = "presettled" if settled else "unsettled"
    steps.show(f"{size} bytes, {kind}, {'one at a time' if singly else 'in runs'}", _RUN * _RUNS)


def _acknowledge(ends: _Ends, steps: _Steps, last: int, singly: bool, state: Accepted) -> None:
    receiver = ends.receiver
    assert receiver is not None

    def settle() -> None:
        if not singly:
            receiver.settle(last - _RUN + 1, last, state)
            ends.server.flush()
            return
        for number in range(last - _RUN + 1, last + 1):
            receiver.settle(number, number, state)
            ends.server.flush()

    steps.measure("settle", settle)
    data = _taken(ends.server)
    steps.measure("read the outcome", lambda: ends.client.receive(data, 0.0))


def messages() -> None:
    """What is done to a message itself."""
    message = Message(
        Data(bytes(64)),
        durable=True,
        message_annotations={"x-opt-jms-msg-type": 3},
        message_id="ID:1",
        to="q",
        creation_time=1,
        application_properties={"colour": "red", "size": 5},
    )
    payload = encode_message(message)
    steps = _Steps()
    count = 5000
    works: dict[str, Callable[[], object]] = {
        "encode_message": lambda: encode_message(message),
        "decode_message": lambda: decode_message(payload),
        "peek": lambda: peek(payload),
        "with_header": lambda: with_header(payload, delivery_count=1),
    }
    for _ in range(_ROUNDS):
        for name, work in works.items():
            steps.measure(name, lambda work=work: [work() for _ in range(count)])  # type: ignore[misc]
        steps.end_round()
    steps.show("messages with annotations and properties", count)


def measure_engine() -> None:
    """Measure and print."""
    for settled in (True, False):
        for singly in (False, True):
            transfers(64, settled=settled, singly=singly)
    transfers(2048, settled=False, singly=False)
    messages()
