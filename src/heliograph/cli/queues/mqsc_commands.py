from collections.abc import Callable, Iterable, Iterator
from typing import Any

from heliograph.cli.errors import MqscSyntaxError
from heliograph.cli.queues.mqsc_attributes import KINDS, read_attributes
from heliograph.cli.queues.mqsc_display import queue_attributes, read_display, set_out, status_attributes
from heliograph.cli.queues.mqsc_parser import Clause, Command, CommandText, parse, quoted, single
from heliograph.cli.shared.amqp import Ask
from heliograph.errors import InvalidInput, Problem

OBJECTS = {
    "DEFINE": ("QLOCAL", "QALIAS", "QMODEL", "SUB"),
    "ALTER": ("QLOCAL", "QALIAS", "QMODEL", "QMGR"),
    "DISPLAY": ("QUEUE", "QLOCAL", "QALIAS", "QMODEL", "QSTATUS", "SUB", "QMGR"),
    "CLEAR": ("QLOCAL",),
    "DELETE": ("QLOCAL", "QALIAS", "QMODEL", "SUB"),
}
"""What each command can be done to."""
_HELP_WORDS = frozenset({"HELP", "?"})

HELP = """\
   DEFINE QLOCAL(name) attributes          a queue; QALIAS(name) TARGET(queue), QMODEL(name)
   DEFINE SUB(name) TOPICSTR('a/#') DEST(queue)
                                           messages of a topic go to a queue
   ALTER QLOCAL(name) attributes           change a queue; QALIAS, QMODEL
   ALTER QMGR DEADQ(queue)                 where dead letters go
   DISPLAY QUEUE(name) attributes          show queues; QLOCAL, QALIAS, QMODEL; name* for all that begin so
   DISPLAY QSTATUS(name)                   depth, consumers, messages in flight, age of the oldest
   DISPLAY SUB(name), DISPLAY QMGR         subscriptions; the server
   CLEAR QLOCAL(name)                      forget the messages of a queue
   DELETE QLOCAL(name)                     delete; QALIAS, QMODEL, SUB; PURGE if there are messages
   END                                     leave
   Names are folded to capitals unless they stand in quotes: 'orders'."""


_FIELDS = {"TOPICSTR": "topic", "DEST": "queue", "SELECTOR": "selector"}
_FLAGS = {"REPLACE": True, "NOREPLACE": False}
# What says of a subscription elsewhere only what all of them are here.
_AS_IT_IS = {"DESTCLAS": "PROVIDED", "SUBSCOPE": "ALL", "WSCHEMA": "TOPIC", "EXPIRY": "UNLIMITED", "DURABLE": "YES"}


def _define_subscription(ask: Ask, command: Command, target: Clause) -> Iterator[str]:
    """DEFINE SUB(name) TOPICSTR(filter) DEST(queue)."""
    name = single(command, target).text
    given = _read_subscription(command)
    for keyword in ("TOPICSTR", "DEST"):
        if _FIELDS[keyword] not in given:
            raise command.source.mistake(command.end, f"expected {keyword}(value), found none")
    answer = ask("subscription-define", {"name": name, **given})
    yield f"subscription {quoted(name)} {'replaced' if answer['replaced'] else 'defined'}"


def _delete_subscription(ask: Ask, command: Command, target: Clause) -> Iterator[str]:
    """DELETE SUB(name)."""
    name = single(command, target).text
    if command.clauses:
        clause = command.clauses[0]
        raise command.source.mistake(clause.at, f"expected nothing more, found {clause.keyword}")
    ask("subscription-delete", {"name": name})
    yield f"subscription {quoted(name)} deleted"


def _display_subscription(ask: Ask, command: Command, target: Clause) -> Iterator[str]:
    """DISPLAY SUB(name), with all attributes."""
    name = single(command, target).text
    for clause in command.clauses:
        if clause.keyword not in {*_FIELDS, *_AS_IT_IS, "ALL"}:
            known = ", ".join(_FIELDS)
            raise command.source.mistake(clause.at, f"expected one of ALL, {known}, found {clause.keyword}")
    found = ask("subscription-list", {"pattern": name})
    if not found and not name.endswith("*"):
        raise InvalidInput(f"there is no subscription {quoted(name)}")
    for number, one in enumerate(found):
        if number:
            yield ""
        shown = {keyword: quoted(one[field]) for keyword, field in _FIELDS.items() if one[field]}
        yield from set_out({"SUB": quoted(one["name"]), **shown})


def _read_subscription(command: Command) -> dict[str, Any]:
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


"""A request to the management node: the operation, its arguments, and what it answers. A refusal is a Problem."""

_VERBS = {"DEF": "DEFINE", "ALT": "ALTER", "DIS": "DISPLAY", "DISP": "DISPLAY", "DEL": "DELETE"}
_TARGETS = {"QL": "QLOCAL", "QA": "QALIAS", "QM": "QMODEL", "Q": "QUEUE", "QS": "QSTATUS"}
_END_WORDS = {"END", "EXIT", "QUIT"}
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
        if word in _END_WORDS:
            return False
        if word.partition(" ")[0] in _HELP_WORDS:
            self._tell(HELP)
            return True
        self.read += 1
        command = None
        try:
            command = parse(text)
            for line in self._lines(command):
                self._tell(line)
        except MqscSyntaxError as mistake:
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
                return _define_subscription(self._ask, command, target)
            case "DELETE", "SUB":
                return _delete_subscription(self._ask, command, target)
            case "DISPLAY", "SUB":
                return _display_subscription(self._ask, command, target)
        if verb in _VERBS_ELSEWHERE and what in _ELSEWHERE:
            return self._idle(command, target.at, f"{verb} {what} has no effect here: {_ELSEWHERE[what]}")
        if verb not in OBJECTS:
            known = ", ".join(_KNOWN_VERBS)
            raise command.source.mistake(0, f"expected one of {known}, found {verb} {target.keyword}")
        known = ", ".join(OBJECTS[verb])
        raise command.source.mistake(target.at, f"expected one of {known} to {verb}, found {target.keyword}")

    def _idle(self, command: Command, at: int, text: str) -> Iterator[str]:
        """A command that other queue managers know and that does nothing here; a note says so."""
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
            raise InvalidInput(f"no {f'{kind} ' if kind else ''}queue is called {quoted(name)}")
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
