"""MQSC's SUB objects: the messages of a topic go to a queue."""

from collections.abc import Callable, Iterator
from typing import Any

from heliograph.cli.queues.mqsc_display import set_out
from heliograph.cli.queues.mqsc_parser import Clause, Command, single
from heliograph.cli.queues.mqsc_text import quoted
from heliograph.errors import Problem

Ask = Callable[[str, dict[str, Any]], Any]

_FIELDS = {"TOPICSTR": "topic", "DEST": "queue", "SELECTOR": "selector"}
_FLAGS = {"REPLACE": True, "NOREPLACE": False}
# What says of a subscription elsewhere only what all of them are here.
_AS_IT_IS = {"DESTCLAS": "PROVIDED", "SUBSCOPE": "ALL", "WSCHEMA": "TOPIC", "EXPIRY": "UNLIMITED", "DURABLE": "YES"}


def define(ask: Ask, command: Command, target: Clause) -> Iterator[str]:
    """DEFINE SUB(name) TOPICSTR(filter) DEST(queue)."""
    name = single(command, target).text
    given = _read(command)
    for keyword in ("TOPICSTR", "DEST"):
        if _FIELDS[keyword] not in given:
            raise command.source.mistake(command.end, f"expected {keyword}(value), found none")
    answer = ask("subscription-define", {"name": name, **given})
    yield f"subscription {quoted(name)} {'replaced' if answer['replaced'] else 'defined'}"


def delete(ask: Ask, command: Command, target: Clause) -> Iterator[str]:
    """DELETE SUB(name)."""
    name = single(command, target).text
    if command.clauses:
        clause = command.clauses[0]
        raise command.source.mistake(clause.at, f"expected nothing more, found {clause.keyword}")
    ask("subscription-delete", {"name": name})
    yield f"subscription {quoted(name)} deleted"


def display(ask: Ask, command: Command, target: Clause) -> Iterator[str]:
    """DISPLAY SUB(name), with all attributes."""
    name = single(command, target).text
    for clause in command.clauses:
        if clause.keyword not in {*_FIELDS, *_AS_IT_IS, "ALL"}:
            known = ", ".join(_FIELDS)
            raise command.source.mistake(clause.at, f"expected one of ALL, {known}, found {clause.keyword}")
    found = ask("subscription-list", {"pattern": name})
    if not found and not name.endswith("*"):
        raise Problem(f"there is no subscription {quoted(name)}")
    for number, one in enumerate(found):
        if number:
            yield ""
        shown = {keyword: quoted(one[field]) for keyword, field in _FIELDS.items() if one[field]}
        yield from set_out({"SUB": quoted(one["name"]), **shown})


def _read(command: Command) -> dict[str, Any]:
    """What the clauses say, in our own names."""
    given: dict[str, Any] = {}
    for clause in command.clauses:
        if clause.keyword in _FLAGS:
            given["replace"] = _FLAGS[clause.keyword]
        elif clause.keyword in _FIELDS:
            given[_FIELDS[clause.keyword]] = single(command, clause).text
        elif clause.keyword in _AS_IT_IS:
            only, word = _AS_IT_IS[clause.keyword], single(command, clause)
            if word.text.upper() != only:
                raise command.source.mistake(word.at, f"expected {only} for {clause.keyword}, found {word.text}")
        else:
            known = ", ".join([*_FIELDS, *_FLAGS, *_AS_IT_IS])
            raise command.source.mistake(clause.at, f"expected one of {known}, found {clause.keyword}")
    return given
