"""Messages as trees: from an envelope to the root with its parts, and back.

The parts are Properties, MQMD, UserProperties (if there are any), headers of type MQRFH2, and the body last. None of
them is read before it is looked into. Writing *finalises*: each header says the format, the character set and the
encoding of what follows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, cast

from heliograph.flow.errors import MessageError
from heliograph.flow.formats.catalogue import MODELLED, Catalogue
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.formats.message_properties import (
    PROPERTIES,
    USER_PROPERTIES,
    MessageProperties,
    properties_to_envelope,
    put,
    user_properties,
    value_of,
)
from heliograph.flow.formats.mqmd import MQMD, to_envelope
from heliograph.flow.formats.mqrfh2 import FORMAT as RFH2_FORMAT
from heliograph.flow.formats.mqrfh2 import INHERIT, MQRFH2, header_of, packed_header, taken_apart
from heliograph.flow.tree import Element, Part, Text
from heliograph.flow.tree.element_types import NAME
from heliograph.flow.tree.packed import Packed

BLOB = "BLOB"
TEXT_DOMAINS = ("XML", "XMLNS", "XMLNSC", "JSON")
TEXT_FORMAT = "MQSTR"
MCD_NAMES = ("Set", "Type", "Fmt")
DOMAINS_OF_MCD = {"none": BLOB, "jms_text": BLOB, "jms_bytes": BLOB, "jms_none": BLOB}


HEADERS = (PROPERTIES.domain, MQMD.domain, USER_PROPERTIES.domain, MQRFH2.domain)
"""Domains of the parts that are not the body."""


@dataclass(frozen=True)
class MessageSettings:
    """What an input node says of messages that do not say it themselves."""

    domain: str = ""
    """The body's; BLOB if empty. An mcd folder says otherwise."""
    message_set: str = ""
    message_type: str = ""
    message_format: str = ""
    transactional: bool = False

    @cached_property
    def properties_format(self) -> MessageProperties:
        """The format of the Properties part."""
        return MessageProperties(transactional=True) if self.transactional else PROPERTIES

    def text(self, ccsid: int, encoding: int) -> Text:
        """How a body is to be read."""
        return _text(ccsid, encoding, self.message_set, self.message_type, self.message_format)


def parse_message(envelope: Envelope, catalogue: Catalogue, settings: MessageSettings) -> Element:
    """The tree of a message. Only an MQRFH2 is looked into, for what follows it."""
    text = settings.text(envelope.ccsid, envelope.encoding)
    data, domain = envelope.body, settings.domain
    headers: list[Part] = []
    if envelope.format == RFH2_FORMAT or envelope.format.rstrip() == RFH2_FORMAT:
        data, domain, text = _headers(envelope, settings, headers)
    carried = cast("bytes", envelope)  # these parts are read from the envelope itself
    root = Element("Root", None, NAME)
    parts: list[Element] = [Part(settings.properties_format, carried, text), Part(MQMD, carried)]
    if envelope.properties:
        parts.append(Part(USER_PROPERTIES, cast("bytes", envelope.properties)))
    parts += headers
    parts.append(Part(catalogue.format(domain or BLOB, text), data, text))
    for part in parts:
        part.parent = root
    root.loaded = parts
    return root


def _headers(envelope: Envelope, settings: MessageSettings, parts: list[Part]) -> tuple[bytes, str, Text]:
    """Split off the MQRFH2s: what is left, its domain, and how it is to be read."""
    data, domain, form = envelope.body, settings.domain, RFH2_FORMAT
    behind = settings.text(envelope.ccsid, envelope.encoding)
    while form == RFH2_FORMAT:
        header = header_of(data, behind.encoding)
        text, fields, length, form, domain, behind = _described(
            header,
            behind.ccsid,
            behind.encoding,
            (domain, behind.message_set, behind.message_type, behind.message_format),
        )
        part = Part(MQRFH2, header, text)
        if fields is not None:
            part.pending = fields
        parts.append(part)
        data = data[length:]
    return data, domain, behind


_text = lru_cache(maxsize=256)(Text)
"""Most messages have the same text, and making one takes as long as making a part."""


class _Described(NamedTuple):
    """What an MQRFH2 says of what follows it."""

    text: Text
    """How the header itself is to be read."""
    fields: Packed | None
    """All of it, if it is plain."""
    length: int
    format: str
    domain: str
    behind: Text


@lru_cache(maxsize=256)
def _described(header: bytes, ccsid: int, encoding: int, known: tuple[str, str, str, str]) -> _Described:
    """What an MQRFH2 says, if domain, set, type and format are `known` so far.

    Headers of one sender are mostly the same, so they are not looked into again for each message.
    """
    text = _text(ccsid, encoding)
    head, texts = taken_apart(header, text)
    for _, folder in texts:
        if folder.startswith("<mcd"):
            known = _named(Part(MQRFH2, header, text).first("mcd"), known)
            break
    domain, *names = known
    behind = _text(ccsid if head.ccsid == INHERIT else head.ccsid, head.encoding, *names)
    return _Described(text, packed_header(header, text), head.length, head.format, domain, behind)


def _named(mcd: Element | None, known: tuple[str, str, str, str]) -> tuple[str, str, str, str]:
    """Domain, set, type and format as an mcd folder names them."""
    if mcd is None:
        return known
    said = str(value_of(mcd, "Msd") or "")
    domain = DOMAINS_OF_MCD.get(said.lower(), said.upper())
    message_set, message_type, message_format = (str(value_of(mcd, name) or "") for name in MCD_NAMES)
    return domain or known[0], message_set or known[1], message_type or known[2], message_format or known[3]


# Writing


@dataclass
class _Follows:
    """What a header says of what follows it."""

    format: str
    ccsid: int
    encoding: int


def write_message(root: Element, catalogue: Catalogue) -> Envelope:
    """The envelope of a message: the very one that came, if nothing has changed. Do not change what it returns."""
    same = _with_body(root.children)
    if same is not None:
        return same
    parts: list[Part] = []
    headers: list[Part] = []
    properties = mqmd = user = body = None
    for part in root.children:
        if not isinstance(part, Part):
            names = ", ".join(child.name for child in root.children if not isinstance(child, Part))
            raise MessageError(f"A message has parts of known domains under its root; {names} is none.")
        parts.append(part)
        domain = part.format.domain
        if domain == "Properties":
            properties = part
        elif domain == "MQMD":
            mqmd = part
        elif domain == "UserProperties":
            user = part
        elif domain == "MQRFH2":
            headers.append(part)
        elif body is None:
            body = part
        else:
            names = ", ".join(one.name for one in root.children if one.name not in HEADERS)
            raise MessageError(f"A message has one body; this one has {names}.")
    if body is not None and body.data is not None:
        same = _unchanged(parts)
        if same is not None:
            return same
    envelope = _envelope(properties, mqmd)
    envelope.properties = user_properties(user) if user is not None else {}
    follows = _finalise_body(body, properties, headers if mqmd is None else [mqmd, *headers], catalogue)
    for header in reversed(headers):
        _chain(header, follows)
        follows = _Follows(RFH2_FORMAT, header.text.ccsid, header.text.encoding)
    envelope.format, envelope.ccsid, envelope.encoding = follows.format, follows.ccsid, follows.encoding
    written = body.bytes() if body is not None else b""
    envelope.body = b"".join([*(header.bytes() for header in headers), written]) if headers else written
    return envelope


def _unchanged(parts: list[Part]) -> Envelope | None:
    """The envelope that the message came in, if it has just the parts that it came with."""
    came: list[Any] = [part.data for part in parts]
    if len(came) < 3 or not isinstance(came[0], Envelope) or came[1] is not came[0]:
        return None
    envelope = came[0]
    rest = came[2:]
    if envelope.properties and rest.pop(0) is not envelope.properties:
        return None
    if len(rest) == 1:
        return envelope if rest[0] is envelope.body else None
    whole = all(isinstance(data, bytes) for data in rest) and b"".join(rest) == envelope.body
    return envelope if whole else None


def _with_body(parts: Sequence[Element]) -> Envelope | None:
    """The envelope that the message came in, with another body, if MQMD, and Properties if there are some, are as they
    came and no other headers are there, as a Compute node does. What the general way makes of that, in one step."""
    if len(parts) not in (2, 3):
        return None
    mqmd, body = parts[-2:]
    if type(mqmd) is not Part or mqmd.format is not MQMD or type(body) is not Part:
        return None
    came = cast("object", mqmd.data)
    domain, text = body.format.domain, body.text
    if not isinstance(came, Envelope) or domain in HEADERS:
        return None
    if len(parts) == 3:
        properties = parts[0]
        if (
            type(properties) is not Part
            or body.data is not None
            or (properties.text is not text and properties.text != text)
            or cast("Any", properties.data) is not came
        ):
            return None
    form = came.format.rstrip(" ")
    if form == RFH2_FORMAT:
        without = Envelope.with_body(came, body.bytes(), TEXT_FORMAT if domain in TEXT_DOMAINS else "")
        without.ccsid, without.encoding = text.ccsid, text.encoding
        return without
    if came.ccsid != text.ccsid or came.encoding != text.encoding:
        return None
    return came.with_body(body.bytes(), form)


def _envelope(properties: Part | None, mqmd: Part | None) -> Envelope:
    """An envelope with what the headers say; MQMD has the last word, if it has changed or Properties have not."""
    came: Any = mqmd.data if mqmd is not None else None
    if not isinstance(came, Envelope):
        came = properties.data if properties is not None else None
    # One that can be changed, whatever kind of envelope it was.
    base = Envelope.with_body(came, b"", came.format) if isinstance(came, Envelope) else Envelope(b"")
    if properties is not None and not isinstance(properties.data, Envelope):
        properties_to_envelope(properties, base)
    if mqmd is not None and not isinstance(mqmd.data, Envelope):
        to_envelope(mqmd, base)
    return base


def _finalise_body(body: Part | None, properties: Part | None, headers: list[Part], catalogue: Catalogue) -> _Follows:
    """Let the body be written as Properties and the last header say, and say what it is then."""
    if body is None:
        return _Follows("", Text().ccsid, Text().encoding)
    last = headers[-1] if headers else None
    form, speaks = "", None
    for header in headers:
        said = str(_value(header, "Format") or "").rstrip(" ")
        if said != RFH2_FORMAT:  # else it speaks of a header, not of the body
            form, speaks = said or form, header
    domain, old = body.format.domain, body.text
    ccsid, encoding = old.ccsid, old.encoding
    for part in (speaks if speaks is last else None, properties):  # Properties have the last word
        if part is not None:
            set_ccsid, set_encoding = _said(part)
            if isinstance(set_ccsid, int) and set_ccsid not in (old.ccsid, INHERIT):
                ccsid = set_ccsid
            if isinstance(set_encoding, int) and set_encoding not in (old.encoding, INHERIT):
                encoding = set_encoding
    names = [old.message_set, old.message_type, old.message_format]
    if domain == MODELLED and properties is not None:
        keys = ("MessageSet", "MessageType", "MessageFormat")
        names = [str(_value(properties, key) or name) for key, name in zip(keys, names, strict=True)]
    text = _text(ccsid, encoding, *names)
    if text is not old and text != old:
        if domain == BLOB:
            body.text = text  # its bytes are what they are
        else:
            body.become(catalogue.format(domain, text), text)
    if last is not None and last.format is MQRFH2:
        _tell_mcd(last, domain, text)
    if not form and speaks is None:
        form = TEXT_FORMAT if domain in TEXT_DOMAINS else ""
    return _Follows(form, ccsid, encoding)


def _said(part: Part) -> tuple[Any, Any]:
    """Character set and encoding as a header says them, without reading what has not been read."""
    came: Any = part.data
    if not isinstance(came, Envelope):
        return value_of(part, "CodedCharSetId"), value_of(part, "Encoding")
    says = came if part.format is MQMD else part.text
    return says.ccsid, says.encoding


def _value(part: Part | None, name: str) -> Any:
    """A field of a header, without reading what has not been read."""
    came: Any = part.data if part is not None else None
    if part is None or not isinstance(came, Envelope):
        return value_of(part, name)
    return getattr(came if part.format is MQMD else part.text, FIELD_ATTRIBUTES[name])


FIELD_ATTRIBUTES = {
    "Format": "format",
    "MessageSet": "message_set",
    "MessageType": "message_type",
    "MessageFormat": "message_format",
}
"""What these fields are called in an envelope (the first), or in a text (the others)."""


def _tell_mcd(header: Part, domain: str, text: Text) -> None:
    """An mcd folder that is there says what the body is now."""
    mcd = header.first("mcd")
    if mcd is None:
        return
    said = str(value_of(mcd, "Msd") or "")
    if DOMAINS_OF_MCD.get(said.lower(), said.upper()) != domain:
        put(mcd, "Msd", "none" if domain == BLOB else domain.lower())
    if domain == MODELLED:
        values = (text.message_set, text.message_type, text.message_format)
        for name, value in zip(MCD_NAMES, values, strict=True):
            if (value_of(mcd, name) or "") != value:
                put(mcd, name, value)


def _chain(header: Part, follows: _Follows) -> None:
    """Let a header say what follows it."""
    ccsid = value_of(header, "CodedCharSetId")
    if (header.text.ccsid if ccsid in (None, INHERIT) else ccsid) != follows.ccsid:
        put(header, "CodedCharSetId", follows.ccsid)
    if str(value_of(header, "Format") or "").rstrip(" ") != follows.format:
        put(header, "Format", follows.format)
    if value_of(header, "Encoding") != follows.encoding:
        put(header, "Encoding", follows.encoding)
