"""Characters that are hard to write in a file, by name: `<CR><LF>`, `<HT>`, `<LT>`, `<U+00A7>`."""

import re

from heliograph.errors import Problem

CONTROLS = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI"
    " DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US SP"
)
NAMES = {name: chr(code) for code, name in enumerate(CONTROLS.split())} | {
    "TAB": "\t",
    "NL": "\n",
    "DEL": "\x7f",
    "LT": "<",
    "GT": ">",
    "AMP": "&",
    "QUOT": '"',
    "APOS": "'",
    "NEL": "\x85",
}
_MNEMONIC = re.compile(r"<(?:U\+([0-9A-Fa-f]{4,6})|([A-Z0-9]+))>")


def characters(text: str) -> str:
    """The text with the characters that mnemonics stand for."""
    return _MNEMONIC.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    code, name = found.groups()
    if code is not None and int(code, 16) <= 0x10FFFF:
        return chr(int(code, 16))
    if name in NAMES:
        return NAMES[name]
    raise Problem(f"unknown character {found[0]}; known are <U+hhhh>, {', '.join(f'<{one}>' for one in NAMES)}")
