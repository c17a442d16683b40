"""Runs MQSC commands, one after the other, by asking the server's management node."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from heliograph.cli.queues import mqsc_subscriptions
from heliograph.cli.queues.mqsc_attributes import KINDS, read_attributes
from heliograph.cli.queues.mqsc_display import queue_attributes, read_display, set_out, status_attributes
from heliograph.cli.queues.mqsc_help import ASKING, OBJECTS, TEXT
from heliograph.cli.queues.mqsc_parser import Clause, Command, parse, single
from heliograph.cli.queues.mqsc_text import CommandText, MqscMistake, quoted
from heliograph.errors import Problem

Ask = Callable[[str, dict[str, Any]], Any]
"""A request to the management node: the operation, its arguments, and what it answers. A refusal is a Problem."""

_VERBS = {"DEF": "DEFINE", "ALT": "ALTER", "DIS": "DISPLAY", "DISP": "DISPLAY", "DEL": "DELETE"}
_TARGETS = {"QL": "QLOCAL", "QA": "QALIAS", "QM": "QMODEL", "Q": "QUEUE", "QS": "QSTATUS"}
_LEAVING = {"END", "EXIT", "QUIT"}
_KNOWN_VERBS = (*OBJECTS, "HELP", "END")

# What queue managers elsewhere are made of beside queues. Here the configuration file has all that.
_ELSEWHERE = {
    "LISTENER": "listeners are [[listener]] tables of the configuration",
    "CHANNEL": "clients connect to listeners, which are in the configuration",
    "AUTHINFO": "who may connect is in [access] of the configuration",
    "CHLAUTH": "who may connect is in [access] of the configuration",
    "SECURITY": "send the server SIGHUP to read its password file again",
    "SERVICE": "the configuration says what is started",
    "PROCESS": "nothing is started by messages",
    "TOPIC": "a topic is there as soon as it is used",
    "NAMELIST": "there are no lists of names",
    "QMGR": "the configuration has what is true of all queues",
}
_VERBS_ELSEWHERE = {"DEFINE", "ALTER", "DELETE", "START", "STOP", "SET", "REFRESH"}

_DEFAULTS = {
    "local": "SYSTEM.DEFAULT.LOCAL.QUEUE",
    "alias": "SYSTEM.DEFAULT.ALIAS.QUEUE",
    "model": "SYSTEM.DEFAULT.MODEL.QUEUE",
}
# Queue managers elsewhere have these from the start, and scripts alter them. Here they are made when that happens.
_TEMPLATES = {*_DEFAULTS.values(), "SYSTEM.JMS.MODEL.QUEUE", "SYSTEM.JMS.TEMPQ.MODEL"}

_LONGEST_NAME = 48
"""Queues here may have longer names, but scripts that use them would not run elsewhere."""


class Interpreter:
    """Runs commands and counts what became of them."""

    def __init__(self, ask: Ask, tell: Callable[[str], None], source: str) -> None:
        """`source` is what the commands come from, for messages about them."""
        self._ask = ask
        self._tell = tell
        self._source = source
        self.read = self.with_mistakes = self.failed = self.without_effect = 0

    @property
    def summary(self) -> str:
        """How it went, for the end."""
        commands = "command" if self.read == 1 else "commands"
        has = "has" if self.with_mistakes == 1 else "have"
        idle = f", {self.without_effect} had no effect" if self.without_effect else ""
        return f"{self.read} {commands} read, {self.with_mistakes} {has} syntax errors, {self.failed} failed{idle}"

    @property
    def all_done(self) -> bool:
        """Whether every command did what it says."""
        return not (self.with_mistakes or self.failed or self.without_effect)

    def run(self, text: CommandText) -> bool:
        """Run a command, and tell what came of it; whether there may be more."""
        word = text.text.strip(" ;").upper()
        if word in _LEAVING:
            return False
        if word.partition(" ")[0] in ASKING:
            self._tell(TEXT)
            return True
        self.read += 1
        command = None
        try:
            command = parse(text)
            for line in self._lines(command):
                self._tell(line)
        except MqscMistake as mistake:
            self.with_mistakes += 1
            self._tell(f"{self._source}:{mistake}")
        except Problem as problem:
            self.failed += 1
            number, column = text.place(0)
            self._tell(f"{self._source}:{number}:{column}: failed: {problem}{_hint(command, str(problem))}")
        return True

    def _lines(self, command: Command) -> Iterator[str]:
        verb = _VERBS.get(command.verb, command.verb)
        if verb not in {*_KNOWN_VERBS, *_VERBS_ELSEWHERE}:
            raise command.source.mistake(0, f"expected one of {', '.join(_KNOWN_VERBS)}, found {command.verb}")
        target = command.target
        if target is None:
            raise command.source.mistake(command.end, f"expected what to {verb}, found the end")
        what = _TARGETS.get(target.keyword, target.keyword)
        match verb, what:
            case "DEFINE", "QLOCAL" | "QALIAS" | "QMODEL":
                return self._define(command, target, KINDS[what])
            case "ALTER", "QLOCAL" | "QALIAS" | "QMODEL":
                return self._alter(command, target, KINDS[what])
            case "DELETE", "QLOCAL" | "QALIAS" | "QMODEL":
                return self._delete(command, target, KINDS[what])
            case "CLEAR", "QLOCAL":
                return self._clear(command, target)
            case "DISPLAY", "QUEUE" | "QSTATUS":
                return self._display(command, target, None, status=what == "QSTATUS")
            case "DISPLAY", "QLOCAL" | "QALIAS" | "QMODEL":
                return self._display(command, target, KINDS[what], status=False)
            case "DISPLAY", "QMGR":
                return self._display_manager(command)
            case "ALTER", "QMGR":
                return self._alter_manager(command, target)
            case "DEFINE", "SUB":
                return mqsc_subscriptions.define(self._ask, command, target)
            case "DELETE", "SUB":
                return mqsc_subscriptions.delete(self._ask, command, target)
            case "DISPLAY", "SUB":
                return mqsc_subscriptions.display(self._ask, command, target)
        if verb in _VERBS_ELSEWHERE and what in _ELSEWHERE:
            return self._idle(command, target.at, f"{verb} {what} has no effect here: {_ELSEWHERE[what]}")
        if verb not in OBJECTS:
            known = ", ".join(_KNOWN_VERBS)
            raise command.source.mistake(0, f"expected one of {known}, found {verb} {target.keyword}")
        known = ", ".join(OBJECTS[verb])
        raise command.source.mistake(target.at, f"expected one of {known} to {verb}, found {target.keyword}")

    def _idle(self, command: Command, at: int, text: str) -> Iterator[str]:
        """A command that other queue managers know, and that does nothing here: whoever relies on it has to know."""
        self.without_effect += 1
        yield self._note(command, at, text)

    def _note(self, command: Command, at: int, text: str) -> str:
        line, column = command.source.place(at)
        return f"{self._source}:{line}:{column}: note: {text}"

    def _notes(self, command: Command, ignored: Iterable[Clause]) -> Iterator[str]:
        for clause in ignored:
            yield self._note(command, clause.at, f"{clause.keyword} has no effect here")

    def _define(self, command: Command, target: Clause, kind: str) -> Iterator[str]:
        name = _queue_name(command, target)
        clauses, options = _split(command, {"LIKE", "REPLACE", "NOREPLACE"})
        given, ignored = read_attributes(command, kind, clauses)
        yield from self._notes(command, ignored)
        wanted = {"name": name, "kind": kind, "replace": "REPLACE" in options}
        if "LIKE" in options:
            wanted["like"] = single(command, options["LIKE"]).text
        elif default := self._default(name, kind):
            wanted |= {"like": default, "description": ""}  # what is said of the default is not true of others
        answer = self._ask("queue-define", {**wanted, **given})
        yield f"{kind} queue {quoted(name)} {'replaced' if answer['replaced'] else 'defined'}"

    def _default(self, name: str, kind: str) -> str:
        """The queue that others of its kind are made like when nothing else is said; "" if there is none."""
        default = _DEFAULTS[kind]
        return default if name != default and self._is_there(default) else ""

    def _is_there(self, name: str) -> bool:
        return bool(self._ask("queue-list", {"pattern": name}))

    def _alter(self, command: Command, target: Clause, kind: str) -> Iterator[str]:
        name = _queue_name(command, target)
        given, ignored = read_attributes(command, kind, command.clauses)
        yield from self._notes(command, ignored)
        if name in _TEMPLATES and not self._is_there(name):
            self._ask("queue-define", {"name": name, "kind": kind, "replace": False, **given})
        else:
            self._ask("queue-alter", {"name": name, "kind": kind, **given})
        yield f"{kind} queue {quoted(name)} altered"

    def _delete(self, command: Command, target: Clause, kind: str) -> Iterator[str]:
        name = _queue_name(command, target)
        _, options = _split(command, {"PURGE", "NOPURGE"}, nothing_else=True)
        self._ask("queue-delete", {"name": name, "kind": kind, "purge": "PURGE" in options})
        yield f"{kind} queue {quoted(name)} deleted"

    def _clear(self, command: Command, target: Clause) -> Iterator[str]:
        name = _queue_name(command, target)
        _split(command, set(), nothing_else=True)
        answer = self._ask("queue-purge", {"name": name})
        yield f"local queue {quoted(name)} cleared of {answer['purged']} messages"

    def _display(self, command: Command, target: Clause, kind: str | None, *, status: bool) -> Iterator[str]:
        name = _queue_name(command, target)
        asked = read_display(command, generic=name.endswith("*"), status=status)
        yield from self._notes(command, asked.ignored)
        kind = "local" if status else kind or asked.kind
        found = self._ask("queue-list", {"pattern": name, **({"kind": kind} if kind else {})})
        rows = list(asked.rows(found, status_attributes if status else queue_attributes))
        if not rows and not (asked.where or name.endswith("*")):
            raise Problem(f"no {f'{kind} ' if kind else ''}queue is called {quoted(name)}")
        for number, row in enumerate(rows):
            if number:
                yield ""
            yield from set_out(row)

    def _alter_manager(self, command: Command, target: Clause) -> Iterator[str]:
        rest, options = _split(command, {"DEADQ"})
        if "DEADQ" not in options:
            yield from self._idle(command, target.at, f"ALTER QMGR has no effect here: {_ELSEWHERE['QMGR']}")
            return
        yield from self._notes(command, rest)
        answer = self._ask("qm-alter", {"dead_letter_queue": single(command, options["DEADQ"]).text})
        yield f"dead letters go to {quoted(answer['dead_letter_queue'])}"

    def _display_manager(self, command: Command) -> Iterator[str]:
        facts = self._ask("qm-show", {})
        attributes = {
            "QMNAME": quoted(facts["name"]),
            "DEADQ": quoted(facts["dead_letter_queue"]),
            "VERSION": quoted(facts["version"]),
            "QUEUES": str(facts["queues"]),
            "CURDEPTH": str(facts["depth"]),
        }
        wanted = {clause.keyword for clause in command.clauses} - {"ALL"}
        for clause in command.clauses:
            if clause.keyword not in {*attributes, "ALL"}:
                yield self._note(command, clause.at, f"{clause.keyword} has no meaning here")
        chosen = {keyword: text for keyword, text in attributes.items() if not wanted or keyword in wanted}
        yield from set_out({"QMNAME": attributes["QMNAME"], **chosen})


def _queue_name(command: Command, target: Clause) -> str:
    name = single(command, target)
    if len(name.text) > _LONGEST_NAME:
        raise command.source.mistake(
            name.at,
            f"expected a name of at most {_LONGEST_NAME} characters, as MQSC has it, found {len(name.text)}; "
            "`helio queue` takes longer",
        )
    return name.text


def _hint(command: Command | None, problem: str) -> str:
    """What may have been meant, if a name that the problem is about was folded to capitals."""
    clauses = () if command is None else (command.target, *command.clauses)
    for clause in clauses:
        for word in (clause.values if clause is not None else None) or ():
            if word.written and word.text in problem.split():
                return f" ({word.written} was read as {word.text}; in quotes, '{word.written}', it stays as it is)"
    return ""


def _split(
    command: Command, names: set[str], *, nothing_else: bool = False
) -> tuple[tuple[Clause, ...], dict[str, Clause]]:
    """The clauses of a command: those that are no options, and the options."""
    rest, options = [], {}
    for clause in command.clauses:
        if clause.keyword in names:
            options[clause.keyword] = clause
        elif nothing_else:
            expected = f"expected {' or '.join(sorted(names)) or 'nothing more'}"
            raise command.source.mistake(clause.at, f"{expected}, found {clause.keyword}")
        else:
            rest.append(clause)
    return tuple(rest), options
