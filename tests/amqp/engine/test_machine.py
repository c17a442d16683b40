"""A client and a server that do anything legal in any order, with bytes that arrive in any pieces."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from amqp.pair import Side
from heliograph.amqp import (
    Accepted,
    Attached,
    Authenticate,
    Closed,
    Credentials,
    Detached,
    Flowed,
    Link,
    Modified,
    Options,
    Receiver,
    Released,
    Sender,
    Settled,
    Source,
    Target,
    Transfers,
)

STATES = [Accepted(), Released(), Modified(True)]


class Stream:
    """What was sent and what has arrived on one link, from the sender's to the receiver's end."""

    def __init__(self, sender: Sender) -> None:
        self.sender = sender
        self.sent: list[tuple[int, bytes, bool]] = []
        self.got: list[tuple[int, bytes, bool]] = []
        self.settled_here: dict[int, object] = {}  # by place in `got`, as the receiver said
        self.settled_there: dict[int, object] = {}  # by number of the sender, as the sender heard
        self.left = False


class Conversation(RuleBasedStateMachine):
    links = Bundle("links")

    @initialize(frame=st.sampled_from([512, 700, 65536]))
    def connect(self, frame):
        self.client = Side(Options("c", max_frame_size=frame, credentials=Credentials("ANONYMOUS")), server=False)
        self.server = Side(Options("s", max_frame_size=frame), server=True)
        self.sides = {self.client: self.server, self.server: self.client}
        self.wires = {self.client: bytearray(), self.server: bytearray()}
        self.streams: dict[str, Stream] = {}
        self.count = 0
        for side in self.sides:
            side.answers[Transfers] = self._transfers
            side.answers[Settled] = self._settled
            side.answers[Attached] = self._attached
            side.answers[Detached] = self._detached
        self.client.connection.open()
        self.session = self.client.connection.begin()
        self._settle_down()

    def _stream(self, link: Link) -> Stream:
        return self.streams[link.name]

    def _attached(self, event):
        if not event.link.accepted:
            event.link.accept()
            if isinstance(event.link, Sender):
                self.streams[event.link.name] = Stream(event.link)

    def _detached(self, event):
        event.link.detach(closed=event.closed)
        if event.link.name in self.streams:
            self._stream(event.link).left = True

    def _transfers(self, event):
        stream = self._stream(event.link)
        stream.got.extend((one.number, one.payload, one.settled) for one in event.deliveries)

    def _settled(self, event):
        stream = self._stream(event.link)
        assert event.link is stream.sender
        assert event.settled
        for number in range(event.first, event.last + 1):
            assert number not in stream.settled_there
            stream.settled_there[number] = event.state

    def _carry(self, giver, size):
        wire = self.wires[giver]
        wire += giver.take_output()
        piece = bytes(wire[:size])
        del wire[:size]
        if piece:
            taker = self.sides[giver]
            taker.handle(taker.connection.receive(piece, 0.0))
        return bool(piece)

    def _settle_down(self):
        while self._carry(self.client, 1 << 30) | self._carry(self.server, 1 << 30):
            pass

    @rule(target=links, ours=st.booleans())
    def attach(self, ours):
        self.count += 1
        name = str(self.count)
        if ours:
            link = self.session.attach_sender(name, Target("q"))
            self.streams[name] = Stream(link)
        else:
            self.session.attach_receiver(name, Source("q"))
        return name

    def _ends(self, name):
        found = [
            link
            for side in self.sides
            for session in side.connection.sessions
            for link in session.links
            if link.name == name and link.accepted
        ]
        return (
            next((link for link in found if isinstance(link, Sender)), None),
            next((link for link in found if isinstance(link, Receiver)), None),
        )

    @rule(name=links, credit=st.integers(0, 300), drain=st.booleans())
    def give_credit(self, name, credit, drain):
        _, receiver = self._ends(name)
        if receiver is not None and not receiver.drain:
            receiver.flow(credit, drain=drain)

    @rule(
        name=links,
        count=st.integers(1, 30),
        size=st.sampled_from([0, 1, 50, 440, 450, 2000, 5000]),
        settled=st.booleans(),
        vary=st.booleans(),
    )
    def send(self, name, count, size, settled, vary):
        sender, _ = self._ends(name)
        if sender is None or not sender.credit:
            return
        stream = self._stream(sender)
        count = min(count, sender.credit)
        start = len(stream.sent)
        payloads = [b"%d:" % (start + n) + bytes(size + (n * 7 if vary else 0)) for n in range(count)]
        numbers = sender.send(payloads, settled=settled)
        stream.sent.extend((number, payload, settled) for number, payload in zip(numbers, payloads, strict=True))

    @rule(name=links)
    def drained(self, name):
        sender, _ = self._ends(name)
        if sender is not None and sender.drain:
            sender.drained()

    @rule(name=links, first=st.integers(0, 50), count=st.integers(1, 20), state=st.sampled_from(STATES))
    def settle(self, name, first, count, state):
        _, receiver = self._ends(name)
        if receiver is None or name not in self.streams:
            return
        stream = self._stream(receiver)
        for place in range(first, min(first + count, len(stream.got))):
            number, _, settled = stream.got[place]
            if not settled and place not in stream.settled_here:
                receiver.settle(number, number, state)
                stream.settled_here[place] = state

    @rule(name=links, closed=st.booleans(), sender_side=st.booleans())
    def detach(self, name, closed, sender_side):
        sender, receiver = self._ends(name)
        link = sender if sender_side else receiver
        if link is not None and name in self.streams and self.count % 4 == 0:
            link.detach(closed=closed)
            self._stream(link).left = True

    @rule(from_client=st.booleans(), window=st.integers(0, 3))
    def shrink_window(self, from_client, window):
        """As a peer with a small window would; the next flow opens it again."""
        side = self.client if from_client else self.server
        for session in side.connection.sessions:
            session.outgoing.window = min(window, session.outgoing.window)

    @rule(from_client=st.booleans(), size=st.integers(1, 3000))
    def carry(self, from_client, size):
        self._carry(self.client if from_client else self.server, size)

    @rule()
    def settle_down(self):
        self._settle_down()

    @invariant()
    def nobody_is_closed(self):
        if hasattr(self, "sides"):
            for side in self.sides:
                assert not side.of(Closed)
                assert len(side.of(Authenticate)) <= 1

    @invariant()
    def what_arrives_is_what_was_sent(self):
        for stream in getattr(self, "streams", {}).values():
            assert len(stream.got) <= len(stream.sent)
            for (_, payload, settled), (_, its_payload, its_settled) in zip(stream.sent, stream.got, strict=False):
                assert payload == its_payload
                assert settled == its_settled

    @precondition(lambda self: hasattr(self, "streams"))
    @rule()
    def in_the_end_everything_has_arrived(self):
        for side in self.sides:
            for session in side.connection.sessions:
                session.write_flow()
        self._settle_down()
        for stream in self.streams.values():
            if stream.left:
                continue
            assert len(stream.got) == len(stream.sent)
            assert stream.sender.pending == 0
            said = {stream.sent[place][0]: state for place, state in stream.settled_here.items()}
            assert stream.settled_there == said
        for name, stream in self.streams.items():
            sender, receiver = self._ends(name)
            if sender is not None and receiver is not None and not stream.left:
                assert sender.credit == receiver.credit
                assert sender.delivery_count == receiver.delivery_count
        assert all(isinstance(event.link, Link) for side in self.sides for event in side.of(Flowed))


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
