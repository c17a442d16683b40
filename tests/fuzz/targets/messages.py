"""Messages in all formats of flows: a message can be read and written, or it is refused with a Problem."""

from datetime import date, time

from hypothesis import strategies as st

from flow.formats.every_format import CATALOGUE, WAYS, Way
from flow.formats.modelled import rewritten
from fuzz.target import Target
from fuzz.targets.mqtt import drawn
from heliograph.errors import Problem
from heliograph.flow.formats.mqmd import write_mqmd
from heliograph.flow.tree import Text

_MQMD = Way(
    lambda data: CATALOGUE.part_of("MQMD", data),
    st.sampled_from([write_mqmd({"Version": version, "ReplyToQ": "R", "MsgId": b"m"}, Text()) for version in (1, 2)]),
    (write_mqmd({"PutDate": date(2004, 9, 30), "PutTime": time(1, 2, 3)}, Text()), (), None),
)
_WAYS = WAYS | {"MQMD": _MQMD}
_NAMES = [*sorted(WAYS), "MQMD"]
"""By number, which the corpus has: what is new comes last."""


class Messages(Target):
    """The first byte says which format."""

    name = "messages"
    allowed = (Problem,)
    words = (
        *(
            b"<",
            b"</a>",
            b"<a>",
            b"&amp;",
            b"&#x0;",
            b"&#xD800;",
            b"<!DOCTYPE",
            b"<![CDATA[",
            b"]]>",
            b"<?xml",
            b"xmlns:p='u'",
        ),
        *(
            b"{",
            b"}",
            b"[",
            b"]",
            b'"',
            b"\\ud800",
            b"1e999",
            b"-0",
            b"null",
            b",",
            b":",
            b"{1:",
            b"{4:\r\n",
            b"-}",
            b":16R:A\r\n",
        ),
        *(b"\r\n", b";", b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"\x0c", b"\xd5", b"RFH \0\0\0\2", b"`", b"NA003abc"),
    )

    def seeds(self) -> list[bytes]:
        return [
            bytes([index]) + data
            for index, name in enumerate(_NAMES)
            for data in (*drawn(_WAYS[name].messages, 8), _WAYS[name].broken[0])
        ]

    def run(self, data: bytes) -> None:
        way = _WAYS[_NAMES[(data[0] if data else 0) % len(_NAMES)]]
        part = way.part(data[1:])
        for _ in part.descendants():
            pass
        assert part.bytes() == data[1:], "what was only read has changed"
        rewritten(way.part(data[1:]))
