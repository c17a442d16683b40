"""What precedes the first AMQP frame: protocol headers (AMQP part 2, section 2.2) and SASL (part 5, section 5.3).

The stages of a server that offers mechanisms are SASL_HEADER, SASL (its mechanisms are sent), WAITING (the client has
sent its credentials, and the owner must answer), HEADER and DONE; a client has no WAITING. Without SASL, both begin
with HEADER. A server that accepts anonymous clients also accepts clients that skip SASL and begin with the AMQP header:
these wait for the owner, too, and the server sends its header with the answer.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Final, NamedTuple

from heliograph.amqp import conditions
from heliograph.amqp.codec.composite import resolve
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.frames import AMQP_HEADER, HEADER_SIZE, SASL_HEADER, SMALLEST_MAX_FRAME, sasl_frame
from heliograph.amqp.codec.performatives import SaslCode, SaslInit, SaslMechanisms, SaslOutcome
from heliograph.amqp.engine.options import ANONYMOUS, EXTERNAL, PLAIN, Options
from heliograph.amqp.errors import ProtocolError

_LONGEST_FRAME: Final = SMALLEST_MAX_FRAME  # SASL frames have at most MIN-MAX-FRAME-SIZE bytes (part 5, section 5.3.1)
_LONGEST_DETAIL: Final = 400  # so that the outcome fits into one frame


class Authenticate(NamedTuple):
    """Server: a client says who it is. Answer with `connection.authenticated`, now or later."""

    mechanism: str
    user: str
    password: str | None


class Stage(Enum):
    """How far the two sides have come."""

    SASL_HEADER = auto()
    SASL = auto()
    WAITING = auto()  # server: the owner must accept or refuse the client
    HEADER = auto()
    DONE = auto()


class Handshake:
    """Steps through the stages; `write` takes what is to be sent."""

    def __init__(self, options: Options, *, server: bool, write: Callable[[bytes], None]) -> None:
        self._options = options
        self._server = server
        self._write = write
        self._bare = False  # the client has skipped SASL
        sasl = options.mechanisms if server else options.credentials
        self.stage = Stage.SASL_HEADER if sasl else Stage.HEADER

    @property
    def secured(self) -> bool:
        """SASL has succeeded, or is not used."""
        return self.stage in {Stage.HEADER, Stage.DONE}

    def start(self) -> None:
        """Client: send the first header."""
        self._write(SASL_HEADER if self.stage is Stage.SASL_HEADER else AMQP_HEADER)

    def receive(self, data: bytes, at: int) -> tuple[int, Authenticate | None]:
        """Read from `at`; return the offset that was reached. Raise `ProtocolError` if the peer speaks another
        protocol."""
        while True:
            if self.stage in {Stage.SASL_HEADER, Stage.HEADER}:
                end = self._header(data, at)
                ask = Authenticate(ANONYMOUS, "", None) if self._bare else None
            elif self.stage is Stage.SASL:
                end, ask = self._sasl(data, at)
            else:
                return at, None
            if end == at or ask is not None:
                return end, ask
            at = end

    def answer(self, code: SaslCode, detail: str) -> bool:
        """Server: the owner's decision about the client. True if a refusal has to be sent as a close frame instead."""
        self.stage = Stage.DONE if self._bare else Stage.HEADER
        if self._bare:
            self._write(AMQP_HEADER)
            return code is not SaslCode.OK
        self._write(sasl_frame(SaslOutcome(code, detail.encode()[:_LONGEST_DETAIL] or None).encoded()))
        return False

    def _header(self, data: bytes, at: int) -> int:
        header = data[at : at + HEADER_SIZE]
        if len(header) < HEADER_SIZE and AMQP_HEADER.startswith(header[:4]):
            return at
        if self.stage is Stage.SASL_HEADER and header == SASL_HEADER:
            self.stage = Stage.SASL
            if self._server:
                self._write(SASL_HEADER + sasl_frame(SaslMechanisms(self._options.mechanisms).encoded()))
        elif self.stage is Stage.SASL_HEADER and header == AMQP_HEADER and self._takes_bare_clients():
            self._bare = True
            self.stage = Stage.WAITING
        elif self.stage is Stage.HEADER and header == AMQP_HEADER:
            self.stage = Stage.DONE
            if self._server:
                self._write(AMQP_HEADER)
        else:
            expected = SASL_HEADER if self.stage is Stage.SASL_HEADER else AMQP_HEADER
            if self._server:
                self._write(expected)  # section 2.2: answer an unsupported header with the supported one, then close
            text = f"expected the protocol header {expected!r}, got {header!r}"
            raise ProtocolError(conditions.CONNECTION_FRAMING_ERROR, text)
        return at + HEADER_SIZE

    def _takes_bare_clients(self) -> bool:
        return self._server and ANONYMOUS in self._options.mechanisms

    def _sasl(self, data: bytes, at: int) -> tuple[int, Authenticate | None]:
        if len(data) - at < 8:
            return at, None
        size, offset, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4] * 4, data[at + 5]
        if not 8 <= offset <= size <= _LONGEST_FRAME or kind != 1:
            text = f"expected a SASL frame of at most {_LONGEST_FRAME} bytes, got type {kind} and {size} bytes"
            raise ProtocolError(conditions.CONNECTION_FRAMING_ERROR, text)
        end = at + size
        if len(data) < end:
            return at, None
        frame = resolve(decode(data[at + offset : end])[0])
        if self._server and isinstance(frame, SaslInit):
            return end, self._init(frame)
        if not self._server and isinstance(frame, SaslMechanisms):
            self._choose(frame)
        elif not self._server and isinstance(frame, SaslOutcome):
            self._outcome(frame)
        else:
            text = f"{type(frame).__name__} does not belong here in the SASL exchange"
            raise ProtocolError(conditions.ILLEGAL_STATE, text)
        return end, None

    def _init(self, frame: SaslInit) -> Authenticate:
        response = frame.initial_response or b""
        if frame.mechanism in self._options.mechanisms:
            if frame.mechanism == PLAIN:
                try:
                    _identity, user, password = response.decode().split("\0")
                except ValueError:
                    raise self._unauthorized("PLAIN takes an identity, a user and a password") from None
                self.stage = Stage.WAITING
                return Authenticate(PLAIN, user, password)
            if frame.mechanism in {ANONYMOUS, EXTERNAL}:
                self.stage = Stage.WAITING
                return Authenticate(frame.mechanism, response.decode(errors="replace"), None)
        raise self._unauthorized(f"the mechanism {frame.mechanism:.40} is not offered")

    def _unauthorized(self, text: str) -> ProtocolError:
        self._write(sasl_frame(SaslOutcome(SaslCode.AUTH).encoded()))
        return ProtocolError(conditions.UNAUTHORIZED_ACCESS, text)

    def _choose(self, offered: SaslMechanisms) -> None:
        credentials = self._options.credentials
        assert credentials is not None
        if credentials.mechanism not in offered.sasl_server_mechanisms:
            names = ", ".join(offered.sasl_server_mechanisms)
            text = f"the server offers {names or 'nothing'}, not {credentials.mechanism}"
            raise ProtocolError(conditions.UNAUTHORIZED_ACCESS, text)
        response = credentials.user
        if credentials.mechanism == PLAIN:
            response = f"\0{credentials.user}\0{credentials.password}"
        init = SaslInit(credentials.mechanism, response.encode(), self._options.hostname)
        self._write(sasl_frame(init.encoded()))

    def _outcome(self, outcome: SaslOutcome) -> None:
        if outcome.code != SaslCode.OK:
            detail = (outcome.additional_data or b"").decode(errors="replace")
            text = f"the server did not let us in ({outcome.code.name.lower()}){': ' + detail if detail else ''}"
            raise ProtocolError(conditions.UNAUTHORIZED_ACCESS, text)
        self.stage = Stage.HEADER
        self._write(AMQP_HEADER)
