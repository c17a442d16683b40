"""MQSC: the lines that queue administrators write, what they do, and what is said about their mistakes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.queues.scripted_management import ScriptedManagement, queue
from heliograph.cli.queues.mqsc_attributes import ATTRIBUTES, WITHOUT_EFFECT
from heliograph.cli.queues.mqsc_commands import OBJECTS, Interpreter
from heliograph.cli.queues.mqsc_parser import CommandText, MqscSyntaxError, commands, parse, quoted


def run(text: str, *queues: dict[str, Any]) -> tuple[ScriptedManagement, list[str], Interpreter]:
    """Run commands: what the server was asked, what was said, and the interpreter with its counters."""
    server, said = ScriptedManagement(*queues), list[str]()
    interpreter = Interpreter(server.ask, said.append, "file")
    for command in commands(text.splitlines()):
        if not interpreter.run(command):
            break
    return server, said, interpreter


def asked(text: str, *queues: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    server, said, interpreter = run(text, *queues)
    assert not interpreter.with_mistakes + interpreter.failed, said
    return server.changes()


def mistake(text: str) -> str:
    server, said, interpreter = run(text)
    assert interpreter.with_mistakes == 1
    assert server.changes() == []
    return said[-1]


# -- lines and words --------------------------------------------------------------------------------------------------


def texts(text: str) -> list[str]:
    return [command.text for command in commands(text.splitlines())]


def test_plus_continues_at_the_first_word_and_minus_at_the_first_column() -> None:
    assert texts("DEFINE +\n   QLOCAL(A)") == ["DEFINE QLOCAL(A)"]
    assert texts("DEFINE QLOCAL(AB-\nCD)") == ["DEFINE QLOCAL(ABCD)"]
    assert texts("DESCR('a-\n  b')") == ["DESCR('a  b')"]
    assert texts("DESCR('a+\n  b')") == ["DESCR('ab')"]


def test_comments_and_empty_lines_are_left_out_also_between_continued_lines() -> None:
    assert texts("* a comment\n\n  * another\nEND +\n* in between\n\n NOW") == ["END NOW"]


def test_a_place_in_a_continued_command_is_that_in_the_file() -> None:
    (command,) = commands(["* first", "DEFINE +", "   QLOCAL(A) +", "  OOPS(3)"])
    assert command.place(command.text.index("QLOCAL")) == (3, 4)
    assert command.place(command.text.index("OOPS")) == (4, 3)


def test_words_are_folded_to_capitals_unless_they_are_quoted() -> None:
    (source,) = commands(["define qlocal(orders) descr('It''s Mine') boqname('low.er')"])
    command = parse(source)
    assert (command.verb, command.target and command.target.keyword) == ("DEFINE", "QLOCAL")
    assert [[word.text for word in clause.values or ()] for clause in (command.target, *command.clauses) if clause] == [
        ["ORDERS"],
        ["It's Mine"],
        ["low.er"],
    ]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="+-*")))
def test_any_value_reads_back_as_it_was_written(text: str) -> None:
    text = text.rstrip()
    (source,) = commands([f"ALTER QLOCAL(A) DESCR({quoted(text)})"])
    (clause,) = parse(source).clauses
    assert clause.values is not None
    assert [word.text for word in clause.values] == [text]


def mistake_in(source: CommandText) -> MqscSyntaxError | None:
    try:
        parse(source)
    except MqscSyntaxError as found:
        return found
    return None


@given(st.text())
def test_any_text_is_read_or_its_mistake_has_a_place(text: str) -> None:
    for source in commands(text.split("\n")):
        found = mistake_in(source)
        assert found is None or (1 <= found.line <= text.count("\n") + 1 and found.column >= 1)


# -- commands ---------------------------------------------------------------------------------------------------------


def test_define_makes_a_queue_with_the_attributes_given() -> None:
    assert asked(
        "DEFINE QLOCAL('orders') DESCR('for the shop') MAXDEPTH(10) MAXMSGL(1000) PUT(DISABLED) GET(ENABLED) +\n"
        "DEFPSIST(YES) DEFPRTY(4) MSGDLVSQ(FIFO) BOTHRESH(3) BOQNAME('failed') CAPEXPRY(25) NOSHARE"
    ) == [
        (
            "queue-define",
            {
                "name": "orders",
                "kind": "local",
                "replace": False,
                "description": "for the shop",
                "max_depth": 10,
                "max_message_length": 1000,
                "put_enabled": False,
                "get_enabled": True,
                "default_persistence": True,
                "default_priority": 4,
                "order": "fifo",
                "backout_threshold": 3,
                "backout_queue": "failed",
                "max_ttl": 2.5,
                "exclusive": True,
            },
        )
    ]


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("DEF QL(A) REPLACE", {"name": "A", "kind": "local", "replace": True}),
        ("DEF QL(A) NOREPLACE", {"name": "A", "kind": "local", "replace": False}),
        ("DEF QL(A) LIKE(B)", {"name": "A", "kind": "local", "replace": False, "like": "B"}),
        ("DEF QA(A) TARGET(B)", {"name": "A", "kind": "alias", "replace": False, "target": "B"}),
        ("DEF QALIAS(A) TARGQ('b')", {"name": "A", "kind": "alias", "replace": False, "target": "b"}),
        ("DEF QM(A) DEFTYPE(TEMPDYN)", {"name": "A", "kind": "model", "replace": False, "temporary": True}),
        ("DEF QMODEL(A) DEFTYPE(PERMDYN)", {"name": "A", "kind": "model", "replace": False, "temporary": False}),
        ("DEF QL(A) CAPEXPRY(NOLIMIT)", {"name": "A", "kind": "local", "replace": False, "max_ttl": 0}),
        ("DEF QL(A) SHARE", {"name": "A", "kind": "local", "replace": False, "exclusive": False}),
        ("def ql(a) descr(' ');", {"name": "A", "kind": "local", "replace": False, "description": ""}),
    ],
)  # fmt: skip
def test_forms_of_define(line: str, arguments: dict[str, Any]) -> None:
    assert asked(line) == [("queue-define", arguments)]


def test_the_longest_life_of_messages_reads_as_it_is_shown() -> None:
    longest = queue("A", max_ttl=999_999_999)
    assert "CAPEXPRY(9999999990)" in " ".join(run("DISPLAY QUEUE(A)", longest)[1])
    assert asked("ALTER QLOCAL(A) CAPEXPRY(9999999990)", longest) == [
        ("queue-alter", {"name": "A", "kind": "local", "max_ttl": 999_999_999.0})
    ]
    expected = "expected NOLIMIT or tenths of a second from 1 to 9999999990 for CAPEXPRY, found 9999999991"
    assert mistake("DEFINE QLOCAL(A) CAPEXPRY(9999999991)") == f"file:1:27: {expected}"


def test_alter_changes_only_what_is_given() -> None:
    assert asked("ALTER QLOCAL(A) MAXDEPTH(7)", queue("A")) == [
        ("queue-alter", {"name": "A", "kind": "local", "max_depth": 7})
    ]


def test_delete_and_clear() -> None:
    lines = "DELETE QLOCAL(A)\nDELETE QL(A) PURGE\nDELETE QALIAS(A)\nCLEAR QLOCAL(A)"
    assert asked(lines, queue("A")) == [
        ("queue-delete", {"name": "A", "kind": "local", "purge": False}),
        ("queue-delete", {"name": "A", "kind": "local", "purge": True}),
        ("queue-delete", {"name": "A", "kind": "alias", "purge": False}),
        ("queue-purge", {"name": "A"}),
    ]


def test_defaults_come_from_the_default_queue_where_there_is_one() -> None:
    default = queue("SYSTEM.DEFAULT.LOCAL.QUEUE", max_depth=9)
    assert asked("DEF QL(A)", default) == [
        (
            "queue-define",
            {
                "name": "A",
                "kind": "local",
                "replace": False,
                "like": "SYSTEM.DEFAULT.LOCAL.QUEUE",
                "description": "",
            },
        )
    ]


def test_altering_a_default_queue_that_is_not_there_makes_it() -> None:
    assert asked("ALTER QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE) MAXMSGL(104857600)") == [
        (
            "queue-define",
            {
                "name": "SYSTEM.DEFAULT.LOCAL.QUEUE",
                "kind": "local",
                "replace": False,
                "max_message_length": 104857600,
            },
        )
    ]


# -- display ----------------------------------------------------------------------------------------------------------


def display(line: str, *queues: dict[str, Any]) -> list[str]:
    _, said, interpreter = run(line, *queues)
    assert not interpreter.with_mistakes + interpreter.failed, said
    return said


def test_display_of_one_queue_shows_everything_two_to_a_line() -> None:
    said = display("DISPLAY QUEUE(A)", queue("A", depth=4, consumers=2, description="mine"))
    assert said[0] == "   QUEUE(A)                                TYPE(QLOCAL)"
    assert said[1] == "   CURDEPTH(4)                             IPPROCS(2)"
    assert "DESCR('mine')" in said[2]
    shown = " ".join(said)
    assert all(f"{keyword}(" in shown for keyword in ATTRIBUTES.keys() - {"TARGET", "DEFTYPE"})


def test_display_of_many_shows_names_unless_more_is_asked_for() -> None:
    two = queue("A.1"), queue("A.2", max_depth=7)
    assert display("DIS Q(A*)", *two) == [
        "   QUEUE(A.1)                              TYPE(QLOCAL)",
        "",
        "   QUEUE(A.2)                              TYPE(QLOCAL)",
    ]
    assert "   MAXDEPTH(7)" in display("DIS Q(A*) MAXDEPTH", *two)
    assert display("DIS Q(A*) ALL", *two)[1].startswith("   CURDEPTH(0)")


def test_display_can_be_narrowed_by_type_and_by_where() -> None:
    queues = queue("A", depth=1), queue("B", depth=5), queue("C", "alias", target="A")
    assert display("DIS Q(*) TYPE(QALIAS)", *queues) == ["   QUEUE(C)                                TYPE(QALIAS)"]
    assert display("DIS QALIAS(*)", *queues) == ["   QUEUE(C)                                TYPE(QALIAS)"]
    assert display("DIS QL(*) WHERE(CURDEPTH GT 1)", *queues) == [
        "   QUEUE(B)                                TYPE(QLOCAL)"
    ]
    assert display("DIS Q(*) WHERE(TARGET EQ A)", *queues) == [
        "   QUEUE(C)                                TYPE(QALIAS)"
    ]
    assert display("DIS Q(*) WHERE(CURDEPTH GT 100)", *queues) == []


def test_display_of_status_and_of_the_queue_manager() -> None:
    waiting = queue("A", depth=4, in_flight=1, consumers=2, oldest_age=12.4)
    assert display("DISPLAY QSTATUS(A)", waiting) == [
        "   QUEUE(A)                                TYPE(QUEUE)",
        "   CURDEPTH(4)                             IPPROCS(2)",
        "   INFLIGHT(1)                             MSGAGE(12)",
    ]
    assert display("DISPLAY QMGR")[0] == "   QMNAME('main')                          DEADQ(DLQ)"


def test_display_of_a_queue_that_is_not_there_fails() -> None:
    _, said, interpreter = run("DISPLAY QUEUE(A)")
    assert interpreter.failed == 1
    assert said == ["file:1:1: failed: no queue is called A"]


# -- what has no effect, and mistakes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("keyword", sorted(WITHOUT_EFFECT))
def test_attributes_that_are_not_needed_are_taken_with_a_note(keyword: str) -> None:
    _, said, interpreter = run(f"DEFINE QLOCAL(A) {keyword}")
    assert said == [f"file:1:18: note: {keyword} has no effect here", "local queue A defined"]
    assert not interpreter.with_mistakes


APPENDIX = """\
define listener(L1) trptype(tcp) port(1420) control(qmgr)
start listener(L1)
alter channel(SYSTEM.DEF.SVRCONN) chltype(SVRCONN) sharecnv(1) maxmsgl(104857600)
alter qmgr maxmsgl(104857600)
alter qlocal(system.default.local.queue) maxmsgl(104857600)
alter qmodel(system.default.model.queue) maxmsgl(104857600)
alter qmodel(system.jms.model.queue) maxmsgl(104857600)
alter qmodel(system.jms.tempq.model) maxmsgl(104857600)
alter qlocal(system.dead.letter.queue) maxmsgl(104857600)
define channel(SYSTEM.ADMIN.SVRCONN) chltype(SVRCONN)
alter qmgr chlauth(disabled)
alter authinfo(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) authtype(IDPWOS) chckclnt(OPTIONAL)
refresh security type(CONNAUTH)
define qlocal(queue) maxdepth(5000) replace
define qlocal(request0) maxdepth(5000) replace
end
define qlocal(never)
"""


def test_the_set_up_of_a_queue_manager_for_measuring_runs_as_it_is() -> None:
    there = queue("SYSTEM.DEAD.LETTER.QUEUE"), queue("SYSTEM.DEFAULT.MODEL.QUEUE", "model")
    server, said, interpreter = run(APPENDIX, *there)
    assert interpreter.summary == "15 commands read, 0 have syntax errors, 0 failed, 8 had no effect"
    assert not interpreter.all_done
    assert len([line for line in said if "note:" in line]) == 8
    assert [arguments["name"] for operation, arguments in server.changes() if operation == "queue-define"] == [
        "SYSTEM.DEFAULT.LOCAL.QUEUE",
        "SYSTEM.JMS.MODEL.QUEUE",
        "SYSTEM.JMS.TEMPQ.MODEL",
        "QUEUE",
        "REQUEST0",
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("FLY QLOCAL(A)", "file:1:1: expected one of DEFINE, ALTER, DISPLAY, CLEAR, DELETE, HELP, END, found FLY"),
        ("DEFINE", "file:1:7: expected what to DEFINE, found the end"),
        ("DEFINE QLOCAL", "file:1:14: expected QLOCAL(value), found none"),
        ("DEFINE QLOCAL()", "file:1:14: expected a value in the brackets, found none"),
        ("DEFINE QLOCAL(A", "file:1:14: expected a closing bracket for this one, found none"),
        ("DEFINE QLOCAL(A B)", "file:1:17: expected one value for QLOCAL, found B as well"),
        ("DEFINE QLOCAL('A)", "file:1:15: expected a closing quote for this one, found none"),
        ("DEFINE QREMOTE(A)", "file:1:8: expected one of QLOCAL, QALIAS, QMODEL, SUB to DEFINE, found QREMOTE"),
        ("DEFINE QLOCAL(A) COLOUR(RED)", "file:1:18: expected an attribute of local queues, found COLOUR"),
        ("DEFINE QLOCAL(A) TARGET(B)", "file:1:18: expected an attribute of local queues, found TARGET"),
        ("DEFINE QALIAS(A) MAXDEPTH(1)", "file:1:18: expected an attribute of alias queues, found MAXDEPTH"),
        ("DEFINE QLOCAL(A) +\n DEFPRTY(X)", "file:2:10: expected an integer from 0 to 9 for DEFPRTY, found X"),
        ("DEFINE QLOCAL(A) MAXDEPTH", "file:1:26: expected MAXDEPTH(value), found none"),
        ("DEFINE QLOCAL(A) PUT(MAYBE)", "file:1:22: expected one of ENABLED, DISABLED for PUT, found MAYBE"),
        ("DEFINE QLOCAL(A) SHARE(YES)", "file:1:24: expected no value for SHARE, found one"),
        ("DEFINE QLOCAL(A) SHARE NOSHARE", "file:1:24: expected one of SHARE and NOSHARE, found both"),
        ("DEFINE QLOCAL(A) PUT(ENABLED) PUT(ENABLED)", "file:1:31: expected each attribute once, found PUT again"),
        ("DELETE QLOCAL(A) NOW", "file:1:18: expected NOPURGE or PURGE, found NOW"),
        ("CLEAR QLOCAL(A) NOW", "file:1:17: expected nothing more, found NOW"),
        (
            f"DEFINE QLOCAL({'A' * 49})",
            "file:1:15: expected a name of at most 48 characters, as MQSC has it, found 49; `helio queue` takes longer",
        ),
        ("CLEAR QALIAS(A)", "file:1:7: expected one of QLOCAL to CLEAR, found QALIAS"),
        ("DISPLAY QUEUE(A) COLOUR", "file:1:18: expected an attribute of queues, found COLOUR"),
        ("DISPLAY QUEUE(A) TYPE(X)", "file:1:23: expected one of QLOCAL, QALIAS, QMODEL, ALL, QUEUE for TYPE, found X"),
        ("DISPLAY QUEUE(A) WHERE(PUT)", "file:1:18: expected WHERE(attribute comparison value), found something else"),
        ("DISPLAY QUEUE(A) WHERE(PUT IS X)", "file:1:28: expected one of LT, GT, LE, GE, EQ, NE, LK, NL, found IS"),
        ("DEFINE QLOCAL(A); END", "file:1:18: expected the end of the line after ;, found more"),
        ("DEFINE QLOCAL(A) +", "file:1:18: expected another line after this one, found the end"),
        ("DISPLAY FLOW(A)", f"file:1:9: expected one of {', '.join(OBJECTS['DISPLAY'])} to DISPLAY, found FLOW"),
        ("START QLOCAL(A)", f"file:1:1: expected one of {', '.join(OBJECTS)}, HELP, END, found START QLOCAL"),
        ("DEFINE SUB(S) DEST(Q)", "file:1:22: expected TOPICSTR(value), found none"),
        ("DEFINE SUB(S) TOPICSTR('a') DEST(Q) EXPIRY(5)", "file:1:44: expected UNLIMITED for EXPIRY, found 5"),
        ("DELETE SUB(S) NOW", "file:1:15: expected nothing more, found NOW"),
        (") DEFINE", "file:1:1: expected a keyword, found )"),
    ],
)  # fmt: skip
def test_a_mistake_says_where_what_was_expected_and_what_was_found(line: str, told: str) -> None:
    assert mistake(line) == told


def test_what_the_server_refuses_is_told_with_the_place_of_the_command() -> None:
    _, said, interpreter = run("\nDELETE QLOCAL(A)")
    assert said == ["file:2:1: failed: there is no queue A"]
    assert interpreter.summary == "1 command read, 0 have syntax errors, 1 failed"


def test_after_a_mistake_the_next_command_is_run() -> None:
    server, _, interpreter = run("FLY\nDEFINE QLOCAL(A)")
    assert len(server.changes()) == 1
    assert interpreter.summary == "2 commands read, 1 has syntax errors, 0 failed"


# -- help, hints, subscriptions, the queue manager --------------------------------------------------------------------


@pytest.mark.parametrize("line", ["help", "HELP", "?", "help define"])
def test_help_says_what_there_is(line: str) -> None:
    _, said, interpreter = run(line)
    assert "DEFINE QLOCAL(name)" in said[0]
    assert interpreter.all_done


def test_a_name_that_was_folded_to_capitals_hints_at_quotes() -> None:
    _, said, _ = run("DELETE QLOCAL(orders)", queue("orders"))
    assert said == [
        "file:1:1: failed: there is no queue ORDERS (orders was read as ORDERS; in quotes, 'orders', it stays as it is)"
    ]
    _, said, _ = run("DISPLAY QLOCAL(orders)", queue("orders"))
    assert "(orders was read as ORDERS;" in said[0]
    _, said, _ = run("ALTER QLOCAL(orders) DESCR(what)", queue("orders"))
    assert "(orders was read as ORDERS;" in said[0]
    _, said, _ = run("DELETE QLOCAL(ORDERS)", queue("orders"))
    assert said == ["file:1:1: failed: there is no queue ORDERS"]


def test_a_subscription_is_defined_and_deleted() -> None:
    text = "DEFINE SUB(S) TOPICSTR('a/#') DEST('orders') SELECTOR('n > 1') DESTCLAS(PROVIDED) REPLACE\nDELETE SUB(S)"
    wanted = {"name": "S", "topic": "a/#", "queue": "orders", "selector": "n > 1", "replace": True}
    assert asked(text) == [("subscription-define", wanted), ("subscription-delete", {"name": "S"})]


def test_the_queue_for_dead_letters_can_be_chosen_and_other_attributes_are_noted() -> None:
    server, said, interpreter = run("ALTER QMGR DEADQ('bin') MAXMSGL(5)")
    assert server.changes() == [("qm-alter", {"dead_letter_queue": "bin"})]
    assert said == ["file:1:25: note: MAXMSGL has no effect here", "dead letters go to 'bin'"]
    assert interpreter.all_done


@pytest.mark.parametrize("line", ["ALTER QMGR MAXMSGL(5)", "DEFINE LISTENER(L)", "START CHANNEL(C)"])
def test_a_command_without_effect_is_not_done(line: str) -> None:
    _, said, interpreter = run(line)
    assert "has no effect here" in said[0]
    assert not interpreter.all_done
    assert interpreter.summary == "1 command read, 0 have syntax errors, 0 failed, 1 had no effect"
