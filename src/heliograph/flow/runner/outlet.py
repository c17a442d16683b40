"""The way out to the server: messages are put in runs, within the unit of work or outside of it."""

import time
from collections.abc import Mapping, Sequence

from heliograph.client import Topic
from heliograph.client.blocking import Connection, Producer, RunReceipt, Session
from heliograph.client.destination import Destination, Queue
from heliograph.client.problems import MessageFormat, MessagingProblem
from heliograph.flow.engine.effects import DeadLetter, Publish, Put
from heliograph.flow.runner.conversion import payload_of

Message = Put | Publish | DeadLetter
MOST_PRODUCERS = 200


def place_of(effect: Message) -> str:
    """Where it goes, as refusals name it."""
    return effect.topic if isinstance(effect, Publish) else effect.queue


class Outlet:
    """Puts messages for one instance."""

    def __init__(self, connection: Connection, origins: Mapping[str, str]) -> None:
        """`origins` has the queue of each input node."""
        self._connection = connection
        self._origins = origins
        self.work: Session = connection.session("transacted")
        """What is taken and put in the unit of work."""
        self._plain: Session | None = None
        self._producers: dict[tuple[bool, Destination], Producer] = {}

    def send(self, effects: Sequence[Message], *, transactional: bool) -> dict[int, str]:
        """Send them; why the server, or the message itself, did not allow it, by place in the sequence."""
        now = round(time.time() * 1000)
        refused: dict[int, str] = {}
        runs: dict[Destination, tuple[list[bytes], list[int]]] = {}
        for at, effect in enumerate(effects):
            place: Destination = Topic(effect.topic) if type(effect) is Publish else Queue(place_of(effect))
            run = runs.get(place)
            if run is None:
                run = runs[place] = ([], [])
            try:
                run[0].append(payload_of(effect, now, self._origins))
                run[1].append(at)
            except MessageFormat as problem:
                refused[at] = str(problem)
        self._send_runs(runs, transactional, refused)
        return refused

    def _send_runs(
        self, runs: dict[Destination, tuple[list[bytes], list[int]]], transactional: bool, refused: dict[int, str]
    ) -> None:
        receipts: list[tuple[Destination, list[int], RunReceipt]] = []
        for place, (payloads, numbers) in runs.items():
            try:
                receipts.append((place, numbers, self._producer(place, transactional).send_encoded(payloads)))
            except MessagingProblem as problem:
                refused.update(dict.fromkeys(numbers, str(problem)))
        for place, numbers, receipt in receipts:
            failures = receipt.refused()
            refused.update({numbers[at]: str(why) for at, why in failures.items()})
            if failures:
                self._forget(place, transactional)

    def _producer(self, place: Destination, transactional: bool) -> Producer:
        key = (transactional, place)
        found = self._producers.get(key)
        if found is None:
            session = self.work if transactional else self.plain
            found = self._producers[key] = session.producer(place)
            if len(self._producers) > MOST_PRODUCERS:
                self._producers.pop(next(iter(self._producers))).close()
        return found

    @property
    def plain(self) -> Session:
        """For what is put whatever becomes of the unit of work."""
        if self._plain is None:
            self._plain = self._connection.session()
        return self._plain

    def _forget(self, place: Destination, transactional: bool) -> None:
        """Its link may be gone for good; the next one is made anew."""
        producer = self._producers.pop((transactional, place), None)
        if producer is not None:
            producer.close()
