"""Our own client behind the face of the others, as far as tests of what goes between clients need it."""

from types import TracebackType
from typing import Any, Self

from heliograph.client import Message, Queue, Session, connect
from interop.amqp_letters import Letter


class Own:
    """A connection of our own client with one session."""

    def __init__(self, port: int, acknowledge: str = "auto") -> None:
        self._connection = connect(f"amqp://127.0.0.1:{port}")
        self.session: Session = self._connection.session(acknowledge)

    def send(self, queue: str, letter: Letter) -> None:
        """Send to a queue."""
        message = Message(
            letter.body,
            properties=letter.properties,
            type=letter.subject,
            correlation_id=letter.correlation_id,
            reply_to=Queue(letter.reply_to) if letter.reply_to else None,
            group_id=letter.group_id,
            group_sequence=letter.group_sequence,
            content_type=letter.content_type,
        )
        manner: dict[str, Any] = {"persistent": letter.durable, "priority": letter.priority or 4}
        self.session.producer(queue).send(message, **manner)

    def take(self, queue: str, timeout: float = 20.0) -> Letter:
        """The next message of a queue."""
        with self.session.consumer(queue) as consumer:
            found = consumer.receive(timeout)
        assert found is not None, "no message came"
        return Letter(
            found.body,
            durable=found.persistent,
            priority=found.priority,
            subject=found.type,
            correlation_id=found.correlation_id,
            reply_to=found.reply_to.name if found.reply_to else None,
            group_id=found.group_id,
            group_sequence=found.group_sequence,
            content_type=found.content_type,
            properties=found.properties,
            delivery_count=found.delivery_count - 1,
        )

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
