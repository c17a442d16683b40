"""One AMQP connection, either role: bytes in, events out, and bytes to be written. No sockets and no clock.

The owner calls `receive` with what the network brought, handles the events it returns, calls `flush`, and takes and
writes `output`. `tick` is called when it is due. Nothing else drives the engine, and it never calls back.

The life of a connection:

- *Handshake* (`handshake`): protocol headers and SASL. Nothing else is read before it is done.
- *Open*: each side sends one open, ours in `open()`. What we write before it has gone out is held (`_held`). `remote`
  is the peer's; frames of sessions before it are an error.
- *Gone* (`gone`): we have closed, or the peer has, or the network connection is lost. Calls have no effect, and frames
  other than close are dropped. *Over* (`_over`): nothing is read any more.

The state is ahead of the events: when the owner handles the first of a list, all of them have happened to the
connection. Calls on a link, session or connection that the peer has left meanwhile do nothing.

An error of the peer ends as little as the standard allows: `ProtocolError` out of a frame of a session ends that
session, `ConnectionFault` and everything outside of sessions closes the connection. `receive` raises nothing.

Frames that look like one before are taken in runs by `incoming_runs`; all others are decoded one by one here. A frame
that has come in part waits in `rest`, and is not looked at before all of it is there.
"""

from itertools import count
from math import inf
from typing import Any, Final, NamedTuple

from heliograph.amqp import conditions
from heliograph.amqp.codec.composite import resolve
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.frames import (
    EMPTY_FRAME,
    SHORT_FLOW,
    SHORT_TRANSFER,
    SMALLEST_MAX_FRAME,
    amqp_frame,
    decode_flow,
    decode_transfer,
)
from heliograph.amqp.codec.performatives import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Error,
    Flow,
    Open,
    SaslCode,
    Transfer,
)
from heliograph.amqp.engine.handshake import Authenticate, Handshake, Stage
from heliograph.amqp.engine.incoming_runs import LONGEST_HEAD, Shape, Shapes, learn_disposition, learn_transfer
from heliograph.amqp.engine.link import Attached, Detached, Flowed, Link, Settled
from heliograph.amqp.engine.options import Options
from heliograph.amqp.engine.output import ConnectionOutput
from heliograph.amqp.engine.receiver import Transfers
from heliograph.amqp.engine.session import Begun, Ended, Session
from heliograph.amqp.errors import ConnectionFault, InvalidField, LimitReached, NotOpen, ProtocolError
from heliograph.common.pieces import Piece, Pieces

_SHORTEST_HEAD: Final = 8
_MOST_HELD: Final = 64 * 1024  # bytes that a client may send before it is let in
_LARGE: Final = 16 * 1024  # a frame of this size that comes in pieces is put together alone
_WORTH_KEEPING: Final = 2  # what makes up so small a part of a read, or more, is kept with all of it instead of copied
_REFUSED: Final = {"amqp:connection-establishment-failed": True}  # what clients look for in an open before a close


class Opened(NamedTuple):
    """The peer's open. A server answers with `connection.open()`, or `connection.close(error)` to refuse."""

    open: Open


class Closed(NamedTuple):
    """The connection is over and everything on it. Write what is in `output`, then close the socket."""

    error: Error | None


Event = Authenticate | Opened | Begun | Attached | Transfers | Settled | Flowed | Detached | Ended | Closed
"""What `Connection.receive` reports to its owner, in the order in which it came."""


class Connection(ConnectionOutput):
    """The engine of one network connection.

    Feed it with `receive`, handle the events, call `flush`, then take and write what is in `output`.
    """

    def __init__(self, options: Options, *, server: bool) -> None:
        """A client calls `open` to begin; a server waits for `Opened`."""
        super().__init__(options)
        self.sessions: list[Session] = []
        self.remote: Open | None = None  # the peer's open
        self.context: Any = None  # for the owner
        self.names: dict[tuple[str, bool], Link] = {}  # links by name and our role
        self._server = server
        self._handshake = Handshake(options, server=server, write=self._write_now)
        self._open: Open | None = None  # our open, when it has to wait for the handshake
        self._running = False  # the handshake is behind us
        self._over = False  # nothing is read any more
        self._channels: dict[int, Session] = {}
        self._remote_channels: dict[int, Session] = {}
        self._shapes = Shapes()
        self.rest = Pieces()  # of a frame of which more is to come
        self._needed = 0  # bytes without which there is nothing to do
        self._heard: float | None = None
        self._beat = -inf

    def receive(self, data: bytes, now: float) -> list[Event]:
        """Take received bytes. A peer that breaks the standard is closed (`Closed`); nothing is raised."""
        self._heard = now
        events: list[Event] = []
        if self._over:
            return events
        at = 0
        # A partial frame is completed first. Until all of it is there, reads are only collected: joining them each time
        # would take quadratic time for a large message.
        if self.rest.size:
            at = len(data)
            if self.rest.size + at < self._needed:
                self.rest.add(data)
                return events
            if self._needed >= _LARGE:  # so that the data behind it is not copied
                at = self._needed - self.rest.size
            self.rest.add(memoryview(data)[:at])
            self._read(self._take_rest(), 0, events)
            if at == len(data) or self._over:
                return events
        self._read(data, at, events)
        return events

    def authenticated(self, ok: bool, detail: str = "", *, busy: bool = False) -> list[Event]:
        """Server: the answer to `Authenticate`. What the client sent meanwhile comes back as events.

        With `busy` a refusal says nothing about who the client is: it may try again.
        """
        events: list[Event] = []
        if self._over or self._handshake.stage is not Stage.WAITING:
            return events
        tell = self._handshake.answer(SaslCode.OK if ok else SaslCode.SYS_TEMP if busy else SaslCode.AUTH, detail)
        if not ok:
            error = Error(conditions.UNAUTHORIZED_ACCESS, detail or "the client was not let in")
            if tell:
                self._fail(error, events)
            else:
                self._finish(Closed(error), events)
        elif self.rest.size:
            self._read(self._take_rest(), 0, events)
        return events

    @property
    def waiting(self) -> int:
        """Bytes that have come of frames and messages of which more is to come."""
        return self.unfinished + self.rest.size

    def open(
        self, *, properties: dict[str, Any] | None = None, offered_capabilities: tuple[str, ...] | None = None
    ) -> None:
        """Send our open (client: first of all; server: as answer to `Opened`). What is given replaces the options'."""
        if self._opened or self._open or self.gone:
            return
        options = self.options
        self._open = Open(
            options.container_id,
            options.hostname,
            options.max_frame_size,
            options.channel_max,
            options.idle_timeout // 2 or None,
            offered_capabilities=options.offered_capabilities if offered_capabilities is None else offered_capabilities,
            desired_capabilities=options.desired_capabilities,
            properties=(options.properties if properties is None else properties) or None,
        )
        if self._server:
            self._try_open()
        else:
            self._handshake.start()
            self._try_open()

    def begin(self, *, properties: dict[str, Any] | None = None) -> Session:
        """Begin a session; `Begun` is the answer, links may be attached before. `LimitReached` if it allows no more."""
        if self.gone:
            raise NotOpen("the connection is over")
        session = self._new_session()
        session.write_begin(None, properties)
        return session

    def close(self, error: Error | None = None) -> None:
        """Close the connection; `Closed` comes with the peer's answer. Before our open, this refuses the peer's.

        Before the end of the handshake nothing is sent, and no event follows.
        """
        if self.gone:
            return
        self.flush()
        self._write_close(error)
        self.gone = True
        self._leave_sessions()

    def abandon(self) -> None:
        """The network connection is lost: partial input and unsent output are dropped."""
        self._over = True
        self.gone = True
        self.rest = Pieces()
        self._held.clear()
        self.output.clear()
        self._leave_sessions()
        # Break reference cycles, so that memory is freed at once and need not wait for the garbage collector.
        for known in (self.sessions, self._channels, self._remote_channels, self.names):
            known.clear()
        self._shapes = Shapes()
        self.remote = self._open = None

    def tick(self, now: float) -> tuple[list[Event], float]:
        """Keep the connection alive and notice a silent peer (`Closed`); says when to be called next (inf: never)."""
        events: list[Event] = []
        due = inf
        if self._over:
            return events, due
        if self.options.idle_timeout:
            heard = self._heard = now if self._heard is None else self._heard
            dead = heard + self.options.idle_timeout / 1000
            if now >= dead:
                text = f"nothing came for {self.options.idle_timeout} ms"
                self._fail(Error(conditions.RESOURCE_LIMIT_EXCEEDED, text), events)
                return events, inf
            due = dead
        if self._opened and self.remote is not None and self.remote.idle_time_out:
            # Section 2.4.5 allows this pause in full; half of it, as a frame may be late
            pause = self.remote.idle_time_out / 2000
            if now >= self._beat + pause:
                self._beat = now
                self.output.append(EMPTY_FRAME)
            due = min(due, self._beat + pause)
        return events, due

    def _write_now(self, data: bytes) -> None:
        self.output.append(data)

    def _try_open(self) -> None:
        """Our open goes out behind our AMQP header: a client's goes ahead, a server's answers one."""
        ready = self._handshake.stage is Stage.DONE or (not self._server and self._handshake.secured)
        if self._open is not None and ready and not self._opened:
            self._opened = True
            self.output.append(amqp_frame(0, self._open.encoded()))
            self.output.extend(self._held)
            self._held.clear()

    def _write_close(self, error: Error | None) -> None:
        if not self._opened:
            self._held.clear()
            if self._handshake.stage is not Stage.DONE:
                self._over = True
                return
            self._open = Open(self.options.container_id, properties=_REFUSED if error else None)
            self._try_open()
        self.write(amqp_frame(0, Close(error).encoded()))

    def _fail(self, error: Error, events: list[Event]) -> None:
        if not self.gone:
            self._write_close(error)
        self._finish(Closed(error), events)

    def _finish(self, closed: Closed, events: list[Event]) -> None:
        self._over = True
        self.gone = True
        self.rest = Pieces()
        self._leave_sessions()
        events.append(closed)

    def _leave_sessions(self) -> None:
        for session in self.sessions:
            session.leave()

    def _read(self, data: bytes, at: int, events: list[Event]) -> None:
        try:
            if not self._running:
                at, ask = self._handshake.receive(data, at)
                if ask is not None:
                    events.append(ask)
                self._try_open()
                self._running = self._handshake.stage is Stage.DONE
            if self._running:
                at = self._read_frames(data, at, events)
        except ProtocolError as error:
            self._fail(Error(error.condition, str(error)), events)
        if at != len(data) and not self._over:
            self._keep(data, at, events)

    def _keep(self, data: bytes, at: int, events: list[Event]) -> None:
        """What is left of the input waits for more."""
        left = len(data) - at
        self._needed = 0
        if self._running and left >= 4:
            self._needed = int.from_bytes(data[at : at + 4], "big")
        elif left > _MOST_HELD:
            text = f"more than {_MOST_HELD} bytes came before the client was let in"
            self._fail(Error(conditions.RESOURCE_LIMIT_EXCEEDED, text), events)
            return
        self.rest.add(_part(data, at, len(data)))

    def _take_rest(self) -> bytes:
        rest, self.rest = self.rest, Pieces()
        return rest.join()

    def _read_frames(self, data: bytes, at: int, events: list[Event]) -> int:
        end = len(data)
        largest = self.options.max_frame_size
        while end - at >= 4 and not self._over:
            # A shape takes as many frames as match it, and returns `at` unchanged if the first does not.
            shape = self._shapes.find(data, at)
            if shape is not None and not self.gone:
                stop = shape.take(data, at, end, largest, events)
                if stop != at:
                    at = stop
                    continue
            size = int.from_bytes(data[at : at + 4], "big")
            if not _SHORTEST_HEAD <= size <= largest:
                text = f"a frame has 8 to {largest} bytes, not {size}"
                raise ProtocolError(conditions.CONNECTION_FRAMING_ERROR, text)
            if end - at < size:
                break  # `_keep` collects the rest of it
            self._read_frame(data, at, at + size, events)
            at += size
        return at

    def _read_frame(self, data: bytes, at: int, end: int, events: list[Event]) -> None:
        start = at + data[at + 4] * 4
        if not at + _SHORTEST_HEAD <= start <= end or data[at + 5] != 0:
            text = f"expected the header of an AMQP frame, got {data[at : at + 8]!r}"
            raise ProtocolError(conditions.CONNECTION_FRAMING_ERROR, text)
        if start == end:
            return  # an empty frame is a heartbeat (section 2.4.5); receiving it was all that counts
        channel = data[at + 6] << 8 | data[at + 7]
        if data.startswith(SHORT_TRANSFER, start) and (short := decode_transfer(data, start, end)) is not None:
            frame: Any = short[0]
            payload = _part(data, short[1], end)
        else:
            frame, payload = _decode(data[start:end])
        if type(frame) is Close:
            self._on_close(frame, events)
        elif self.gone:
            pass  # sent before the peer had our close
        elif type(frame) is Open:
            self._on_open(frame, events)
        elif self.remote is None:
            raise ProtocolError(conditions.ILLEGAL_STATE, f"expected open, got {type(frame).__name__}")
        elif type(frame) is Begin:
            self._on_begin(channel, frame, events)
        else:
            self._in_session(channel, frame, payload, events)
            self._learn(channel, frame, data[at : min(end, at + LONGEST_HEAD)])

    def _learn(self, channel: int, frame: Any, data: bytes) -> None:
        """Remember the shape of this frame, for the next one like it."""
        session = self._remote_channels.get(channel)
        shape: Shape | None = None
        if session is not None and type(frame) is Transfer:
            shape = learn_transfer(session, frame, data)
        elif session is not None and type(frame) is Disposition:
            shape = learn_disposition(session, frame, data)
        if shape is not None:
            self._shapes.remember(data, shape)

    def _on_open(self, frame: Open, events: list[Event]) -> None:
        if self.remote is not None:
            raise ProtocolError(conditions.ILLEGAL_STATE, "the connection is open already")
        if frame.max_frame_size < SMALLEST_MAX_FRAME:
            raise InvalidField(f"max-frame-size is at least {SMALLEST_MAX_FRAME}, not {frame.max_frame_size}")
        self.remote = frame
        self.largest_frame = frame.max_frame_size
        events.append(Opened(frame))

    def _on_close(self, frame: Close, events: list[Event]) -> None:
        if not self.gone:
            self.flush()  # the peer reads until our close, so outcomes given before it must be written
            self._write_close(None)
        self._finish(Closed(frame.error), events)

    def _new_session(self) -> Session:
        channel = next(number for number in count() if number not in self._channels)
        allowed = self.options.channel_max if self.remote is None else self.remote.channel_max
        if channel > min(allowed, self.options.channel_max):
            raise LimitReached(f"there can be {min(allowed, self.options.channel_max) + 1} sessions")
        session = Session(self, channel, self.names)
        self._channels[channel] = session
        self.sessions.append(session)
        return session

    def _on_begin(self, channel: int, frame: Begin, events: list[Event]) -> None:
        if channel > self.options.channel_max:
            text = f"the highest channel here is {self.options.channel_max}, not {channel}"
            raise ProtocolError(conditions.CONNECTION_FRAMING_ERROR, text)
        if channel in self._remote_channels:
            raise ProtocolError(conditions.ILLEGAL_STATE, f"channel {channel} has a session already")
        if frame.remote_channel is None:
            try:
                session = self._new_session()
            except LimitReached as problem:
                raise ProtocolError(conditions.RESOURCE_LIMIT_EXCEEDED, str(problem)) from None
            # Answered at once, because owners do not refuse sessions; they decide about links.
            session.write_begin(channel)
        else:
            awaited = self._channels.get(frame.remote_channel)
            if awaited is None or awaited.remote is not None:
                raise InvalidField(f"no session waits for an answer on channel {frame.remote_channel}")
            session = awaited
        self._remote_channels[channel] = session
        session.on_begin(frame)
        if not session.gone:
            events.append(Begun(session))

    def _in_session(self, channel: int, frame: Any, payload: Piece, events: list[Event]) -> None:
        session = self._remote_channels.get(channel)
        if session is None:
            text = f"{type(frame).__name__} on channel {channel}, which has no session"
            raise ProtocolError(conditions.ILLEGAL_STATE, text)
        if type(frame) is End:
            del self._remote_channels[channel]
            session.on_end(frame, events)
            del self._channels[session.channel]
            self.sessions.remove(session)
        # The peer may have sent frames before it received our end; they are dropped.
        elif not session.gone:
            try:
                _to_session(session, frame, payload, events)
            except ConnectionFault:
                raise
            except ProtocolError as error:
                session.fail(error.condition, str(error), events)


def _part(data: bytes, at: int, end: int) -> Piece:
    """Bytes of a read that have to be kept for a while: a copy only if they would keep much more in memory."""
    return memoryview(data)[at:end] if (end - at) * _WORTH_KEEPING >= len(data) else data[at:end]


def _decode(body: bytes) -> tuple[Any, bytes]:
    """The performative of a frame, and its payload."""
    flow = decode_flow(body) if body.startswith(SHORT_FLOW) and len(body) > len(SHORT_FLOW) + 2 else None
    if flow is not None:
        return flow, b""
    value, length = decode(body)
    return resolve(value), body[length:]


def _to_session(session: Session, frame: Any, payload: Piece, events: list[Event]) -> None:
    kind = type(frame)
    if kind is Transfer:
        session.on_transfer(frame, payload, events)
    elif kind is Disposition:
        last = frame.first if frame.last is None else frame.last
        session.on_disposition(frame.role, frame.first, last, frame.settled, frame.state, events)
    elif kind is Flow:
        session.on_flow(frame, events)
    elif kind is Attach:
        session.on_attach(frame, events)
    elif kind is Detach:
        session.on_detach(frame, events)
    else:
        raise ConnectionFault(conditions.NOT_IMPLEMENTED, f"expected a frame of a session, got {frame!r:.60}")
