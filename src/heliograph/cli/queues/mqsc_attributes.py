"""The attributes of queues in MQSC: read and shown as the declaration of queues says."""

from collections.abc import Mapping
from typing import Any

from heliograph.broker import QueueDefinition
from heliograph.cli.queues.mqsc_parser import Clause, Command, Word, quoted, single
from heliograph.objects import Attribute, Mqsc, attributes_of

KINDS = {"QLOCAL": "local", "QALIAS": "alias", "QMODEL": "model"}


def _declared() -> list[tuple[Attribute, Mqsc]]:
    return [(one, one.about.mqsc) for one in attributes_of(QueueDefinition) if one.about.mqsc is not None]


ATTRIBUTES: dict[str, Attribute] = {mqsc.name: attribute for attribute, mqsc in _declared() if mqsc.name}
"""Attributes with a value, by keyword."""
SYNONYMS = {mqsc.synonym: mqsc.name for _, mqsc in _declared() if mqsc.synonym}
FLAGS: dict[str, tuple[Attribute, Any]] = {
    word: (attribute, value)
    for attribute, mqsc in _declared()
    if not mqsc.name
    for word, value in (mqsc.words or {}).items()
}
"""Words that stand alone: the attribute, and the value that each gives it."""

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
        elif keyword in FLAGS and _has(kind, FLAGS[keyword][0]):
            _no_value(command, clause)
            attribute, value = FLAGS[keyword]
            if attribute.key in found:
                raise command.source.mistake(clause.at, "expected one of SHARE and NOSHARE, found both")
            found[attribute.key] = value
        elif keyword in ATTRIBUTES and _has(kind, ATTRIBUTES[keyword]):
            found[ATTRIBUTES[keyword].key] = _read(command, clause, ATTRIBUTES[keyword])
        else:
            raise command.source.mistake(clause.at, f"expected an attribute of {kind} queues, found {clause.keyword}")
    return found, ignored


def _has(kind: str, attribute: Attribute) -> bool:
    """Whether queues of a kind have an attribute."""
    return not attribute.about.only_for or kind in attribute.about.only_for


def _no_value(command: Command, clause: Clause) -> None:
    if clause.values is not None:
        raise command.source.mistake(clause.values[0].at, f"expected no value for {clause.keyword}, found one")


def _read(command: Command, clause: Clause, attribute: Attribute) -> Any:
    word = single(command, clause)
    value = _value(word, attribute)
    if value is None:
        expected = values_text(attribute)
        raise command.source.mistake(
            word.at, f"expected {expected} for {clause.keyword}, found {word.text or 'nothing'}"
        )
    return value


def _value(word: Word, attribute: Attribute) -> Any:
    """What a word means as the value of an attribute; None if it can mean nothing."""
    mqsc = _mqsc(attribute)
    if mqsc.words is not None:
        return mqsc.words.get(word.text.upper())
    if attribute.type is str:
        return word.text
    if mqsc.zero and word.text.upper() == mqsc.zero:
        return 0
    low, high = _bounds(attribute)
    if not (word.text.isascii() and word.text.isdecimal()) or not low <= int(word.text[:_MOST_DIGITS]) <= high:
        return None
    return int(word.text) if mqsc.per_unit == 1 else int(word.text) / mqsc.per_unit


_MOST_DIGITS = 30
"""More than any number has that is within bounds."""


def _bounds(attribute: Attribute) -> tuple[int, int]:
    """The least and the greatest number, in what MQSC counts. 0 is none if there is a word for it."""
    mqsc, range_ = _mqsc(attribute), attribute.about.range
    assert range_.high is not None
    low = int(range_.low * mqsc.per_unit)
    return max(low, 1) if mqsc.zero else low, int(range_.high * mqsc.per_unit)


def _mqsc(attribute: Attribute) -> Mqsc:
    assert attribute.about.mqsc is not None
    return attribute.about.mqsc


def values_text(attribute: Attribute) -> str:
    """What an attribute may be in MQSC, in words."""
    mqsc = _mqsc(attribute)
    if mqsc.words is not None:
        return "one of " + ", ".join(mqsc.words)
    if attribute.type is str:
        return "a text"
    low, high = _bounds(attribute)
    counted = mqsc.counted or "an integer"
    return f"{mqsc.zero} or {counted} from {low} to {high}" if mqsc.zero else f"{counted} from {low} to {high}"


def shown(queue: Mapping[str, Any]) -> dict[str, str]:
    """The attributes of a queue as MQSC writes them, by keyword; those without a value have an empty text."""
    kind = queue["kind"]
    found = {
        keyword: _shown(queue[attribute.key], attribute)
        for keyword, attribute in ATTRIBUTES.items()
        if _has(kind, attribute) and attribute.key in queue
    }
    for word, (attribute, value) in FLAGS.items():
        if _has(kind, attribute) and queue.get(attribute.key) == value:
            found[word] = ""
    return found


def _shown(value: Any, attribute: Attribute) -> str:
    mqsc = _mqsc(attribute)
    if mqsc.words is not None:
        return next((word for word, meant in mqsc.words.items() if meant == value), str(value))
    if attribute.type is str:
        return quoted(value)
    return str(round(value * mqsc.per_unit)) if value or not mqsc.zero else mqsc.zero
