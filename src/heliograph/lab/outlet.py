"""The sending link of a client: runs of prepared transfers, as far as credit and session window allow."""

from typing import TYPE_CHECKING

from heliograph.amqp.performatives import Accepted, TransactionalState
from heliograph.amqp.values import Described
from heliograph.lab.transfers import Template

if TYPE_CHECKING:
    from heliograph.lab.amqp_client import Client

_ACCEPTED = {Accepted.CODE, TransactionalState.CODE}


class Outlet:
    """What one client puts, numbered from 0."""

    def __init__(self, client: "Client") -> None:
        self.limit = 0  # deliveries that the broker has given credit for so far
        self.sent = 0
        self.accepted = 0
        self.refused = 0  # answered by the broker, but not accepted
        self._client = client

    def room(self, template: Template) -> int:
        """Messages that may be sent now."""
        client = self._client
        return 0 if client.blocked else min(self.limit - self.sent, client.frames_left // template.frames)

    def send(self, template: Template, publisher: int, count: int) -> None:
        """Put the next messages; no more than there is room for."""
        while count > 0:
            part = min(count, template.most)
            number = self._client.take_numbers(part, part * template.frames)
            self._client.write(template.run(number, publisher, self.sent, part))
            self.sent += part
            count -= part

    def settled(self, count: int, state: Described | None) -> None:
        """The broker has said what became of so many of them."""
        if state is not None and state.descriptor in _ACCEPTED:
            self.accepted += count
        else:
            self.refused += count
