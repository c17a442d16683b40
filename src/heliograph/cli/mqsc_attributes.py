"""The attributes of queues in MQSC: which of our own each one is, and how its values read in both languages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from heliograph.broker.queues.definition import LONGEST_MESSAGE, MOST_MESSAGES
from heliograph.cli.mqsc_parsing import Clause, Command, Word, single
from heliograph.cli.mqsc_text import quoted

KINDS = {"QLOCAL": "local", "QALIAS": "alias", "QMODEL": "model"}
_LOCAL_AND_MODEL = frozenset({"local", "model"})
_EVERY = frozenset({"local", "model", "alias"})


class _Unfit(Exception):
    """A value that an attribute cannot have: what it could have."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: the name it has here, the kinds of queues that have it, and its values both ways."""

    field: str
    kinds: frozenset[str]
    read: Callable[[Word], Any]
    show: Callable[[Any], str]


def _number(low: int, high: int) -> Callable[[Word], int]:
    def read(word: Word) -> int:
        if not word.text.isdecimal() or not low <= int(word.text) <= high:
            raise _Unfit(f"an integer from {low} to {high}")
        return int(word.text)

    return read


def _choice(**values: Any) -> tuple[Callable[[Word], Any], Callable[[Any], str]]:
    def read(word: Word) -> Any:
        if word.text.upper() not in values:
            raise _Unfit("one of " + ", ".join(values))
        return values[word.text.upper()]

    return read, lambda value: next((word for word, meant in values.items() if meant == value), str(value))


def _text(word: Word) -> str:
    return word.text


# CAPEXPRY is counted in tenths of a second.
_TENTHS_MOST = 999_999_999


def _read_expiry(word: Word) -> float:
    if word.text.upper() == "NOLIMIT":
        return 0
    try:
        return _number(1, _TENTHS_MOST)(word) / 10
    except _Unfit:
        raise _Unfit(f"NOLIMIT or tenths of a second from 1 to {_TENTHS_MOST}") from None


def _show_expiry(seconds: float) -> str:
    return str(round(seconds * 10)) if seconds else "NOLIMIT"


_ENABLED = _choice(ENABLED=True, DISABLED=False)

ATTRIBUTES: dict[str, Attribute] = {
    "DESCR": Attribute("description", _EVERY, _text, quoted),
    "PUT": Attribute("put_enabled", _EVERY, *_ENABLED),
    "GET": Attribute("get_enabled", _EVERY, *_ENABLED),
    "DEFPSIST": Attribute("default_persistence", _LOCAL_AND_MODEL, *_choice(YES=True, NO=False)),
    "DEFPRTY": Attribute("default_priority", _LOCAL_AND_MODEL, _number(0, 9), str),
    "MAXDEPTH": Attribute("max_depth", _LOCAL_AND_MODEL, _number(1, MOST_MESSAGES), str),
    "MAXMSGL": Attribute("max_message_length", _LOCAL_AND_MODEL, _number(1, LONGEST_MESSAGE), str),
    "MSGDLVSQ": Attribute("order", _LOCAL_AND_MODEL, *_choice(PRIORITY="priority", FIFO="fifo")),
    "BOTHRESH": Attribute("backout_threshold", _LOCAL_AND_MODEL, _number(0, MOST_MESSAGES), str),
    "BOQNAME": Attribute("backout_queue", _LOCAL_AND_MODEL, _text, quoted),
    "CAPEXPRY": Attribute("max_ttl", _LOCAL_AND_MODEL, _read_expiry, _show_expiry),
    "TARGET": Attribute("target", frozenset({"alias"}), _text, quoted),
    "DEFTYPE": Attribute("temporary", frozenset({"model"}), *_choice(TEMPDYN=True, PERMDYN=False)),
}
SYNONYMS = {"TARGQ": "TARGET"}
FLAGS: dict[str, tuple[str, Any]] = {"SHARE": ("exclusive", False), "NOSHARE": ("exclusive", True)}
"""Attributes without a value."""

# What queue managers elsewhere have and this server has no use for. A script that sets them need not be changed.
WITHOUT_EFFECT = frozenset(
    {
        "ACCTQ",
        "CFSTRUCT",
        "CLCHNAME",
        "CLUSNL",
        "CLUSTER",
        "CLWLPRTY",
        "CLWLRANK",
        "CLWLUSEQ",
        "CMDSCOPE",
        "CUSTOM",
        "DEFBIND",
        "DEFPRESP",
        "DEFREADA",
        "DEFSOPT",
        "DISTL",
        "FORCE",
        "HARDENBO",
        "IMGRCOVQ",
        "INDXTYPE",
        "INITQ",
        "MAXFSIZE",
        "MONQ",
        "NOHARDENBO",
        "NOTRIGGER",
        "NPMCLASS",
        "PROCESS",
        "PROPCTL",
        "QDEPTHHI",
        "QDEPTHLO",
        "QDPHIEV",
        "QDPLOEV",
        "QDPMAXEV",
        "QSGDISP",
        "QSVCIEV",
        "QSVCINT",
        "RETINTVL",
        "SCOPE",
        "STATQ",
        "STGCLASS",
        "STREAMQ",
        "STRMQOS",
        "TARGTYPE",
        "TRIGDATA",
        "TRIGDPTH",
        "TRIGGER",
        "TRIGMPRI",
        "TRIGTYPE",
        "USAGE",
    }
)


def read_attributes(command: Command, kind: str, clauses: tuple[Clause, ...]) -> tuple[dict[str, Any], list[Clause]]:
    """What these clauses say about a queue of this kind, in our own names, and those of them without effect here."""
    found: dict[str, Any] = {}
    ignored = []
    seen: set[str] = set()
    for clause in clauses:
        keyword = SYNONYMS.get(clause.keyword, clause.keyword)
        if keyword in seen:
            raise command.source.mistake(clause.at, f"expected each attribute once, found {clause.keyword} again")
        seen.add(keyword)
        if keyword in WITHOUT_EFFECT:
            ignored.append(clause)
        elif keyword in FLAGS and kind != "alias":
            _no_value(command, clause)
            name, value = FLAGS[keyword]
            if name in found:
                raise command.source.mistake(clause.at, "expected one of SHARE and NOSHARE, found both")
            found[name] = value
        else:
            attribute = ATTRIBUTES.get(keyword)
            if attribute is None or kind not in attribute.kinds:
                raise command.source.mistake(
                    clause.at, f"expected an attribute of {kind} queues, found {clause.keyword}"
                )
            found[attribute.field] = _read(command, clause, attribute)
    return found, ignored


def _no_value(command: Command, clause: Clause) -> None:
    if clause.values is not None:
        raise command.source.mistake(clause.values[0].at, f"expected no value for {clause.keyword}, found one")


def _read(command: Command, clause: Clause, attribute: Attribute) -> Any:
    word = single(command, clause)
    try:
        return attribute.read(word)
    except _Unfit as expected:
        raise command.source.mistake(
            word.at, f"expected {expected} for {clause.keyword}, found {word.text or 'nothing'}"
        ) from None


def shown(queue: Mapping[str, Any]) -> dict[str, str]:
    """The attributes of a queue as MQSC writes them, by keyword; those without a value have an empty text."""
    kind = queue["kind"]
    found = {
        keyword: attribute.show(queue[attribute.field])
        for keyword, attribute in ATTRIBUTES.items()
        if kind in attribute.kinds and attribute.field in queue
    }
    if kind != "alias":
        found["NOSHARE" if queue["exclusive"] else "SHARE"] = ""
    return found
