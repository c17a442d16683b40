"""What a message costs the client: CPU of its core alone, with a broker in memory that is not counted.

    PYTHONPATH=src:tests python -m client.micro_bench

Rounds of sending and receiving take turns, so that a noisy machine is noisy for both; the best round counts.
"""

import time

from client.memory import Memory
from client.scenes import producer, session
from heliograph.client import Message
from heliograph.client.core.consumer import ReceiverEnd
from heliograph.client.core.producer import ProducerCore
from heliograph.client.destination import Queue

RUN = 1000
ROUNDS = 30
BODY = "x" * 100


class _Stopwatch:
    """CPU time, only while it is told to run."""

    def __init__(self) -> None:
        self.spent = 0.0

    def __enter__(self) -> None:
        self._began = time.process_time()

    def __exit__(self, *_: object) -> None:
        self.spent += time.process_time() - self._began


def _exchange(memory: Memory, watch: _Stopwatch) -> None:
    """Until nothing moves any more, with the client's part on the watch."""
    peer = memory.broker.peers[0]
    while True:
        with watch:
            data = b"".join(memory.core.flush())
        if data:
            peer.receive(data)
        answer = peer.take()
        if answer:
            with watch:
                memory.core.received(answer)
        elif not data:
            return


def _send(memory: Memory, core: ProducerCore) -> float:
    watch = _Stopwatch()
    with watch:
        for _ in range(RUN):
            core.submit(*core.prepare(Message(BODY), None, None))
    _exchange(memory, watch)
    return watch.spent


def _receive(memory: Memory, core: ReceiverEnd) -> float:
    watch = _Stopwatch()
    _exchange(memory, watch)
    with watch:
        for _ in range(RUN):
            message = core.next()
            assert message is not None
            assert message.body == BODY
            memory.core.touch(core)
    _exchange(memory, watch)
    return watch.spent


def main() -> None:
    memory = Memory()
    memory.broker.credit = 5 * RUN
    memory.open()
    owner = session(memory)
    sender = producer(memory, owner, persistent=False)
    receiver = owner.consumer(Queue("q"), prefetch=2 * RUN)
    memory.do(owner.add(receiver))
    sent, received = [], []
    for _ in range(ROUNDS):
        sent.append(_send(memory, sender))
        received.append(_receive(memory, receiver))
    for name, spent in (("send", sent), ("receive", received)):
        each = sorted(1e6 * seconds / RUN for seconds in spent)
        print(f"{name:8} best {each[0]:5.1f} us, median {each[len(each) // 2]:5.1f} us a message")


if __name__ == "__main__":
    main()
