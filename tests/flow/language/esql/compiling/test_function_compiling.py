"""Statements that build trees, PROPAGATE, and functions that have code of their own."""

import pytest

from heliograph.flow.errors import StatementError


@pytest.mark.parametrize(
    ("create", "expected"),
    [
        ("FIELD OutputRoot.XML.r.x", "<r><a/><x/></r>"),
        ("FIRSTCHILD OF OutputRoot.XML.r NAME 'x' VALUE 1", "<r><x>1</x><a/></r>"),
        ("LASTCHILD OF OutputRoot.XML.r NAME 'x' VALUE 1", "<r><a/><x>1</x></r>"),
        ("PREVIOUSSIBLING OF OutputRoot.XML.r.a NAME 'x'", "<r><x/><a/></r>"),
        ("NEXTSIBLING OF OutputRoot.XML.r.a REPEAT VALUE 2", "<r><a/><a>2</a></r>"),
        ("LASTCHILD OF OutputRoot.XML.r IDENTITY (XML.Attribute)x VALUE 1", '<r x="1"><a/></r>'),
        ("FIELD OutputRoot.XML.r.x IDENTITY (XML.Attribute)x VALUE 1", '<r x="1"><a/></r>'),
        ("FIELD OutputRoot.XML.r.x IDENTITY y", "<r><a/><y/></r>"),
        ("LASTCHILD OF OutputRoot.XML.r TYPE XML.Attribute NAME 'x' VALUE 1", '<r x="1"><a/></r>'),
        ("FIELD OutputRoot.XML.r.x FROM InputBody.i", "<r><a/><x><v>1</v></x></r>"),
    ],
)
def test_create(run, create, expected):
    assert run(f"CREATE FIELD OutputRoot.XML.r.a; CREATE {create};", "<i><v>1</v></i>").xml == expected


def test_the_later_first_child_is_first(run):
    text = "CREATE FIRSTCHILD OF OutputRoot.XML.r NAME 'a'; CREATE FIRSTCHILD OF OutputRoot.XML.r NAME 'b';"
    assert run(text).xml == "<r><b/><a/></r>"


def test_create_points_a_reference_at_the_new_field(run):
    text = """DECLARE r REFERENCE TO OutputRoot;
        CREATE LASTCHILD OF OutputRoot AS r DOMAIN 'XMLNSC' NAME 'XMLNSC';
        CREATE LASTCHILD OF r AS r NAME 'a'; SET r.b = 1;"""
    assert run(text).xml == "<a><b>1</b></a>"


def test_a_reference_to_the_output_root_makes_parts(run):
    assert run("DECLARE r REFERENCE TO OutputRoot; SET r.XMLNSC.a = 1;").xml == "<a>1</a>"


def test_parse_and_asbitstream_are_inverse(run):
    text = """CREATE LASTCHILD OF OutputRoot DOMAIN 'XMLNSC'
            PARSE(CAST('<a><b>1</b></a>' AS BLOB CCSID 1208) CCSID 1208);
        SET Environment.b = OutputRoot.XMLNSC.a.b;
        SET OutputRoot.XMLNSC.a.b = 2;
        SET Environment.bytes = ASBITSTREAM(OutputRoot.XMLNSC CCSID 1208);
        SET Environment.folder = ASBITSTREAM(OutputRoot.XMLNSC.a.b OPTIONS FolderBitStream CCSID 1208);"""
    done = run(text)
    assert done.value("b") == "1"
    assert done.value("bytes") == b"<a><b>2</b></a>"
    assert done.value("folder") == b"<b>2</b>"


@pytest.mark.parametrize(
    ("delete", "expected"),
    [
        ("FIELD OutputRoot.XML.r.b", "<r><a/><c/></r>"),
        ("FIELD OutputRoot.XML.r.none.at.all", "<r><a/><b/><c/></r>"),
        ("FIRSTCHILD OF OutputRoot.XML.r", "<r><b/><c/></r>"),
        ("LASTCHILD OF OutputRoot.XML.r", "<r><a/><b/></r>"),
        ("PREVIOUSSIBLING OF OutputRoot.XML.r.b", "<r><b/><c/></r>"),
        ("NEXTSIBLING OF OutputRoot.XML.r.b", "<r><a/><b/></r>"),
        ("NEXTSIBLING OF OutputRoot.XML.r.c", "<r><a/><b/><c/></r>"),
    ],
)
def test_delete(run, delete, expected):
    assert run(f"SET OutputRoot = InputRoot; DELETE {delete};", "<r><a/><b/><c/></r>").xml == expected


@pytest.mark.parametrize(
    ("move", "name", "moved"),
    [
        ("PARENT", "r", True),
        ("NEXTSIBLING", "c", True),
        ("PREVIOUSSIBLING", "a", True),
        ("FIRSTCHILD", "x", True),
        ("LASTCHILD", "y", True),
        ("FIRSTCHILD NAME 'y'", "y", True),
        ("FIRSTCHILD NAME 'none'", "b", False),
        ("NEXTSIBLING REPEAT TYPE NAME", "b", True),
        ("NEXTSIBLING IDENTITY d", "d", True),
        ("TO InputBody.r.d", "d", True),
        ("TO InputBody.r.none", "b", False),
    ],
)
def test_move(run, move, name, moved):
    text = f"""DECLARE r REFERENCE TO InputBody.r.b; MOVE r {move};
        SET Environment.name = FIELDNAME(r); SET Environment.moved VALUE = LASTMOVE(r);"""
    done = run(text, "<r><a/><b><x/><y/></b><c/><b/><d/></r>")
    assert (done.value("name"), done.value("moved")) == (name, moved)


def test_a_reference_to_nothing_points_to_the_root(run):
    text = """DECLARE r REFERENCE TO InputBody.none;
        SET Environment.moved VALUE = LASTMOVE(r); SET Environment.same VALUE = SAMEFIELD(r, InputBody);"""
    done = run(text, "<a/>")
    assert (done.value("moved"), done.value("same")) == (False, True)


def test_walking_along_siblings(run):
    text = """DECLARE r REFERENCE TO InputBody.a.b; DECLARE s CHARACTER '';
        WHILE LASTMOVE(r) DO SET s = s || r.c; MOVE r NEXTSIBLING REPEAT TYPE NAME; END WHILE;
        SET Environment.s = s;"""
    assert run(text, "<a><b><c>1</c></b><x/><b><c>2</c></b></a>").value("s") == "12"


def test_detach_and_attach_move_a_field(run):
    text = """SET OutputRoot = InputRoot; DECLARE r REFERENCE TO OutputRoot.XML.r.a;
        DETACH r; ATTACH r TO OutputRoot.XML.r.b AS FIRSTCHILD; SET r.z = 1;"""
    assert run(text, "<r><a><x/></a><b><y/></b></r>").xml == "<r><b><a><x/><z>1</z></a><y/></b></r>"


def test_attaching_what_is_attached_is_an_error(run):
    with pytest.raises(StatementError, match="DETACH"):
        run(
            "SET OutputRoot = InputRoot; DECLARE r REFERENCE TO OutputRoot.XML.a; ATTACH r TO OutputRoot AS LASTCHILD;",
            "<a/>",
        )


@pytest.mark.parametrize(
    ("clause", "terminal", "label"),
    [
        ("", "out", None),
        ("TO TERMINAL 'out2'", "out2", None),
        ("TO TERMINAL 1", "out1", None),
        ("TO TERMINAL -1", "failure", None),
        ("TO LABEL 'L'", None, "L"),
    ],
)
def test_propagate_names_a_terminal_or_a_label(run, clause, terminal, label):
    (sent,) = run(f"SET OutputRoot.XML.a = 1; PROPAGATE {clause};").sent
    assert (sent.terminal, sent.label, sent.body, sent.finalize) == (terminal, label, "<a>1</a>", True)


def test_propagate_nowhere_sends_nothing(run):
    assert run("PROPAGATE TO TERMINAL 'nowhere';").sent == []


@pytest.mark.parametrize("terminal", ["'out9'", "7", "TRUE", "NULL"])
def test_propagate_to_no_terminal_is_an_error(run, terminal):
    with pytest.raises(StatementError, match="terminal"):
        run(f"PROPAGATE TO TERMINAL {terminal};")


def test_propagate_delete_none_keeps_the_message(run):
    done = run(
        "SET OutputRoot.XML.a.b = 1; PROPAGATE FINALIZE NONE DELETE NONE; SET OutputRoot.XML.a.c = 2; PROPAGATE;"
    )
    assert [(sent.body, sent.finalize) for sent in done.sent] == [
        ("<a><b>1</b></a>", False),
        ("<a><b>1</b><c>2</c></a>", True),
    ]


def test_propagate_can_send_another_tree(run):
    (sent,) = run("PROPAGATE MESSAGE InputRoot;", "<in/>").sent
    assert sent.body == "<in/>"
