"""Programs as they come from elsewhere: what development tools generate, and what programmers are used to write."""

from collections.abc import Callable
from typing import Any

import pytest

from flow.language.esql.conftest import Run, Runner, message, values_by
from heliograph.errors import Problem
from heliograph.flow.errors import EsqlMistake
from heliograph.flow.language.esql.checking.program_checking import check_program
from heliograph.flow.language.esql.compiling.program_compiling import compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.tree import Element

NEW_COMPUTE_MODULE = """
CREATE COMPUTE MODULE Orders_Compute
	CREATE FUNCTION Main() RETURNS BOOLEAN
	BEGIN
		{main}
		RETURN TRUE;
	END;

	CREATE PROCEDURE CopyMessageHeaders() BEGIN
		DECLARE I INTEGER 1;
		DECLARE J INTEGER;
		SET J = CARDINALITY(InputRoot.*[]);
		WHILE I < J DO
			SET OutputRoot.*[I] = InputRoot.*[I];
			SET I = I + 1;
		END WHILE;
	END;

	CREATE PROCEDURE CopyEntireMessage() BEGIN
		SET OutputRoot = InputRoot;
	END;
END MODULE;
"""
"""What a toolkit writes for a new Compute node."""

ORDER = "<Order><Line>a</Line><Line>b</Line></Order>"


def mistakes(text: str, kind: str = "COMPUTE") -> list[EsqlMistake]:
    """What the checks find that is no warning."""
    return [found for found in check_program(parse_program(text, "test.esql", kind)) if not found.warning]


def warnings(text: str) -> list[str]:
    return [found.text for found in check_program(parse_program(text, "test.esql")) if found.warning]


@pytest.fixture
def accepted(run: Runner) -> Runner:
    """Run a program that the checks have nothing against."""

    def call(text: str, xml: str = "<Any/>", **given: Any) -> Run:
        assert mistakes(text, given.get("kind", "COMPUTE")) == []
        return run(text, xml, **{"domain": "XMLNSC", **given})

    return call


@pytest.fixture
def result(accepted: Runner) -> Callable[..., Any]:
    """The value of an expression, behind some declarations."""
    return values_by(accepted, "<Any/>")


def with_headers() -> Element:
    root = message(ORDER, "XMLNSC")
    root.insert(0, Element("Properties")).append(Element("CodedCharSetId", 1208))
    header = root.insert(1, Element("MQMD"))
    header.append(Element("Format", "MQSTR"))
    header.append(Element("Priority", 7))
    return root


class TestNewComputeModule:
    def test_headers_are_copied_with_their_names(self, accepted: Runner) -> None:
        text = NEW_COMPUTE_MODULE.format(main="CALL CopyMessageHeaders(); SET OutputRoot.XMLNSC.Answer = 'ok';")
        done = accepted(text, input_root=with_headers())
        assert [part.name for part in done.evaluation.output_root.children] == ["Properties", "MQMD", "XMLNSC"]
        header = done.evaluation.output_root.first("MQMD")
        assert header is not None
        assert [field.value for field in header.children] == ["MQSTR", 7]
        assert done.xml == "<Answer>ok</Answer>"

    def test_the_whole_message_is_copied(self, accepted: Runner) -> None:
        done = accepted(NEW_COMPUTE_MODULE.format(main="CALL CopyEntireMessage();"), ORDER)
        assert done.xml == ORDER
        assert done.result is True


class TestAnonymousTargets:
    def test_a_new_field_gets_the_name_and_type_of_what_is_copied(self, accepted: Runner) -> None:
        done = accepted(
            """SET OutputRoot.XMLNSC.O.x = '';
            SET OutputRoot.XMLNSC.O.*[2] = InputBody.In.(XMLNSC.Attribute)id;
            SET OutputRoot.XMLNSC.O.*[3] = InputBody.In.b;
            SET OutputRoot.XMLNSC.O.[4] = InputBody.In.a;""",
            '<In id="7"><a>1</a><b><c>2</c></b></In>',
        )
        assert done.xml == '<O id="7"><x/><b><c>2</c></b><a>1</a></O>'

    def test_a_field_that_is_there_gets_the_name_too(self, accepted: Runner) -> None:
        done = accepted(
            "SET OutputRoot.XMLNSC.O.x = 1; SET OutputRoot.XMLNSC.O.*[1] = InputBody.In.b;", "<In><b>2</b></In>"
        )
        assert done.xml == "<O><b>2</b></O>"

    def test_a_reference_that_names_no_field_is_copied_as_a_whole(self, accepted: Runner) -> None:
        done = accepted(
            """FOR field AS InputBody.In.*[] DO
              SET OutputRoot.XMLNSC.O.*[CARDINALITY(OutputRoot.XMLNSC.O.*[]) + 1] = field;
            END FOR;""",
            "<In><a>1</a><b>2</b></In>",
        )
        assert done.xml == "<O><a>1</a><b>2</b></O>"

    @pytest.mark.parametrize("every", ["*[]", "[]"])
    def test_all_fields_keep_their_names(self, accepted: Runner, every: str) -> None:
        done = accepted(
            f"SET OutputRoot.XMLNSC.O.gone = 1; SET OutputRoot.XMLNSC.O.{every} = InputBody.In.{every};",
            '<In id="7"><a>1</a><b>2</b><a>3</a></In>',
        )
        assert done.xml == '<O id="7"><a>1</a><b>2</b><a>3</a></O>'

    def test_rows_of_a_select_keep_their_names(self, accepted: Runner) -> None:
        done = accepted(
            "SET OutputRoot.XMLNSC.O.*[] = (SELECT ITEM I FROM InputBody.In.*[] AS I WHERE I > '1');",
            "<In><a>1</a><b>2</b><c>3</c></In>",
        )
        assert done.xml == "<O><b>2</b><c>3</c></O>"

    def test_all_parts_of_a_message_keep_their_names(self, accepted: Runner) -> None:
        done = accepted("SET OutputRoot.*[] = InputRoot.*[];", input_root=with_headers())
        assert [part.name for part in done.evaluation.output_root.children] == ["Properties", "MQMD", "XMLNSC"]
        assert done.xml == ORDER


class TestRowsOutsideOfRoutines:
    MAIN = "CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN SET Environment.n = r.n; RETURN TRUE; END;"

    @pytest.mark.parametrize("how", ["CONSTANT ROW", "ROW", "SHARED ROW", "SHARED CONSTANT ROW", "CONSTANT SHARED ROW"])
    @pytest.mark.parametrize("inside", [True, False], ids=["module", "schema"])
    def test_they_begin_with_their_value(self, accepted: Runner, how: str, inside: bool) -> None:
        declare = f"DECLARE r {how} ROW('x' AS n);"
        module = f"CREATE COMPUTE MODULE M {declare if inside else ''} {self.MAIN} END MODULE;"
        assert accepted(module if inside else declare + module).value("n") == "x"

    def test_one_may_begin_as_another(self, accepted: Runner) -> None:
        text = f"DECLARE q ROW ROW('x' AS n); CREATE COMPUTE MODULE M DECLARE r ROW q; {self.MAIN} END MODULE;"
        assert accepted(text).value("n") == "x"

    def test_rows_may_have_paths_and_lists(self, accepted: Runner) -> None:
        done = accepted(
            """DECLARE r SHARED ROW ROW(1 AS (XMLNSC.Attribute)id, 'x' AS a.b, LIST{1, 2} AS n[], NULL AS c);
            CREATE COMPUTE MODULE M CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
              SET OutputRoot.XMLNSC.O = r; RETURN TRUE;
            END; END MODULE;"""
        )
        assert done.xml == '<O id="1"><a><b>x</b></a><n>1</n><n>2</n><c/></O>'

    def test_a_reference_may_be_declared_there(self, accepted: Runner) -> None:
        done = accepted(
            """CREATE COMPUTE MODULE M
              DECLARE r REFERENCE TO Environment.Variables;
              DECLARE e REFERENCE TO Environment;
              CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
                SET e.Variables.n = 1;
                MOVE r TO e.Variables;
                SET r.m = LASTMOVE(r);
                CALL Deeper();
                RETURN TRUE;
              END;
              CREATE PROCEDURE Deeper() BEGIN SET r.k = r.n + 1; END;
            END MODULE;"""
        )
        assert [done.value("Variables", name) for name in "nmk"] == [1, True, 2]


class TestSelectingOneField:
    def test_the_name_of_the_list_means_what_is_in_it(self, accepted: Runner) -> None:
        done = accepted(
            "SET OutputRoot.XMLNSC.O.T[] = (SELECT I FROM InputBody.In.a[] AS I);", "<In><a>1</a><a>2</a></In>"
        )
        assert done.xml == "<O><T>1</T><T>2</T></O>"

    def test_with_all_below_it(self, accepted: Runner) -> None:
        done = accepted(
            "SET OutputRoot.XMLNSC.O.T[] = (SELECT I FROM InputBody.In.a[] AS I);",
            '<In><a k="1"><b>2</b></a></In>',
        )
        assert done.xml == '<O><T k="1"><b>2</b></T></O>'

    def test_beside_others_it_is_a_field_of_its_name(self, accepted: Runner) -> None:
        done = accepted(
            "SET OutputRoot.XMLNSC.O.T[] = (SELECT I, 5 AS five FROM InputBody.In.a[] AS I);", "<In><a>1</a></In>"
        )
        assert done.xml == "<O><T><a>1</a><five>5</five></T></O>"


class TestListsForOneField:
    @pytest.mark.parametrize("kind", ["T.b AS b", "ITEM T.b"])
    def test_the_first_is_taken_and_the_programmer_warned(self, accepted: Runner, kind: str) -> None:
        text = f"SET OutputRoot.XMLNSC.O.x = (SELECT {kind} FROM InputBody.In.a[] AS T);"
        done = accepted(text, "<In><a><b>1</b></a><a><b>2</b></a></In>")
        assert done.xml in ("<O><x><b>1</b></x></O>", "<O><x>1</x></O>")
        assert warnings(text) == ["this list goes to one field, which gets its first item: write [] or THE(...)"]

    def test_nothing_found_is_null(self, accepted: Runner) -> None:
        done = accepted(
            """SET OutputRoot.XMLNSC.O.x = 1;
            SET OutputRoot.XMLNSC.O.x = (SELECT T.b AS b FROM InputBody.In.none[] AS T);""",
            "<In/>",
        )
        assert done.xml == "<O/>"

    def test_a_whole_tree_may_be_the_target(self, accepted: Runner) -> None:
        done = accepted(
            "DECLARE r ROW; SET r = (SELECT T.b AS b FROM InputBody.In.a[] AS T); SET Environment.b = r.b;",
            "<In><a><b>1</b></a></In>",
        )
        assert done.value("b") == "1"

    def test_a_variable_gets_the_value_of_the_first(self, accepted: Runner) -> None:
        text = "DECLARE v CHARACTER; SET v = (SELECT T.b FROM InputBody.In.a[] AS T); SET Environment.v = v;"
        assert accepted(text, "<In><a><b>1</b></a><a><b>2</b></a></In>").value("v") == "1"
        assert len(warnings(text)) == 1


class TestThrownStates:
    THROW = "THROW USER EXCEPTION VALUES(-1, 'U01', 42, 'bad');"
    SEEN = """SET Environment.code = SQLCODE; SET Environment.state = SQLSTATE;
      SET Environment.native = SQLNATIVEERROR; SET Environment.text = SQLERRORTEXT;"""

    def seen(self, done: Run) -> list[Any]:
        return [done.value(name) for name in ("code", "state", "native", "text")]

    @pytest.mark.parametrize("how", ["EXIT", "CONTINUE"])
    @pytest.mark.parametrize("wanted", ["VALUE 'U01'", "'U01'", "LIKE 'U0%'"])
    def test_the_values_are_what_a_handler_sees(self, accepted: Runner, how: str, wanted: str) -> None:
        done = accepted(f"DECLARE {how} HANDLER FOR SQLSTATE {wanted} BEGIN {self.SEEN} END; {self.THROW}")
        assert self.seen(done) == [-1, "U01", 42, "bad"]

    def test_a_handler_for_another_state_does_not_fire(self, accepted: Runner) -> None:
        with pytest.raises(Problem, match="bad"):
            accepted(f"DECLARE EXIT HANDLER FOR SQLSTATE LIKE 'D%' BEGIN END; {self.THROW}")

    def test_other_values_are_a_text_as_before(self, accepted: Runner) -> None:
        done = accepted(
            f"""DECLARE EXIT HANDLER FOR SQLSTATE LIKE 'U%' BEGIN {self.SEEN} END;
            THROW USER EXCEPTION MESSAGE 2951 VALUES('no stock', 'lamp');"""
        )
        assert self.seen(done) == [-2951, "U02951", 0, "no stock, lamp"]

    def test_what_the_flow_sees_is_the_whole_text(self, accepted: Runner) -> None:
        with pytest.raises(Problem, match=r"-1, U01, 42, bad"):
            accepted(self.THROW)


class TestNamespaces:
    def test_a_constant_of_the_same_name_does_not_change_a_declaration(self, accepted: Runner) -> None:
        done = accepted(
            """DECLARE p NAMESPACE 'urn:x';
            SET OutputRoot.XMLNSC.p:O.(XMLNSC.NamespaceDecl)xmlns:p = p;
            SET OutputRoot.XMLNSC.p:O.p:In = 1;"""
        )
        assert done.xml == '<p:O xmlns:p="urn:x"><p:In>1</p:In></p:O>'

    def test_a_field_may_have_the_name_of_a_namespace(self, accepted: Runner) -> None:
        done = accepted(
            "DECLARE ord NAMESPACE 'urn:x'; SET OutputRoot.XMLNSC.ord = 1; SET Environment.n = InputBody.*:ord;",
            "<ord>5</ord>",
        )
        assert done.xml == "<ord>1</ord>"
        assert done.value("n") == "5"

    def test_a_name_constant_still_stands_for_a_name(self, accepted: Runner) -> None:
        assert accepted("DECLARE n NAME 'Real'; SET OutputRoot.XMLNSC.n = 1;").xml == "<Real>1</Real>"

    def test_a_soap_answer(self, accepted: Runner) -> None:
        done = accepted(
            """DECLARE soap NAMESPACE 'http://schemas.xmlsoap.org/soap/envelope/';
            DECLARE ord NAMESPACE 'urn:orders';
            CREATE COMPUTE MODULE Answer
              CREATE FUNCTION Main() RETURNS BOOLEAN
              BEGIN
                SET OutputRoot.XMLNSC.(XMLNSC.XmlDeclaration)*.(XMLNSC.Attribute)Version = '1.0';
                SET OutputRoot.XMLNSC.soap:Envelope.(XMLNSC.NamespaceDecl)xmlns:soap = soap;
                SET OutputRoot.XMLNSC.soap:Envelope.(XMLNSC.NamespaceDecl)xmlns:ord = ord;
                DECLARE body REFERENCE TO OutputRoot;
                CREATE LASTCHILD OF OutputRoot.XMLNSC.soap:Envelope AS body NAMESPACE soap NAME 'Body';
                DECLARE asked REFERENCE TO InputRoot.XMLNSC.soap:Envelope.soap:Body.ord:GetOrder;
                SET body.ord:Order.ord:Id = asked.ord:Id;
                SET body.ord:Order.(XMLNSC.Attribute)ord:state = 'open';
                SET body.ord:Order.ord:Line[] = (SELECT ITEM L FROM asked.ord:Line[] AS L);
                RETURN TRUE;
              END;
            END MODULE;""",
            '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:o="urn:orders"><s:Body>'
            "<o:GetOrder><o:Id>7</o:Id><o:Line>a</o:Line><o:Line>b</o:Line></o:GetOrder></s:Body></s:Envelope>",
        )
        assert done.xml == (
            '<?xml version="1.0"?>'
            '<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:ord="urn:orders"><soap:Body>'
            '<ord:Order ord:state="open"><ord:Id>7</ord:Id><ord:Line>a</ord:Line><ord:Line>b</ord:Line></ord:Order>'
            "</soap:Body></soap:Envelope>"
        )


class TestNamesThatAreThere:
    @pytest.mark.parametrize("name", ["BrokerName", "NodeLabel", "MessageFlowLabel", "ApplicationLabel"])
    @pytest.mark.parametrize("before", ["", "SQL."])
    def test_properties_of_where_a_program_runs(self, result: Callable[..., Any], name: str, before: str) -> None:
        assert result(before + name, properties={name: "here"}) == "here"

    @pytest.mark.parametrize("name", ["SQL.SQLCODE", "SQL.SQLSTATE", "SQL.SQLERRORTEXT", "SQL.SQLNATIVEERROR"])
    def test_what_a_database_said(self, result: Callable[..., Any], name: str) -> None:
        assert result(name) == result(name.removeprefix("SQL."))

    @pytest.mark.parametrize(
        ("name", "number"),
        [
            ("MQMD_CURRENT_VERSION", 2),
            ("MQRFH_CURRENT_VERSION", 2),
            ("MQFMT_RF_HEADER_2", "MQHRF2  "),
            ("MQRO_COPY_MSG_ID_TO_CORREL_ID", 0),
            ("MQFMT_PCF", "MQPCF   "),
            ("MQRO_EXCEPTION_WITH_DATA", 0x3000000),
        ],
    )
    def test_constants_of_message_queueing(self, result: Callable[..., Any], name: str, number: object) -> None:
        assert result(name) == number

    def test_identifiers_need_no_brackets(self, result: Callable[..., Any]) -> None:
        assert len(result("UUIDASCHAR")) == 36
        assert len(result("UUIDASBLOB")) == 16
        assert len(result("UUIDASCHAR()")) == 36

    def test_base64(self, result: Callable[..., Any]) -> None:
        assert result("BASE64ENCODE(X'00ff10')") == "AP8Q"
        assert result("BASE64DECODE('AP8Q')") == b"\x00\xff\x10"
        assert result("CAST(BASE64DECODE(BASE64ENCODE('h\u00e9')) AS CHARACTER CCSID 1208)") == "h\u00e9"
        assert result("BASE64ENCODE(NULL)") is None
        with pytest.raises(Problem, match="BASE64DECODE"):
            result("BASE64DECODE('a!b')")


class TestFieldTypes:
    def test_a_field_of_a_header(self, accepted: Runner) -> None:
        done = accepted("SET OutputRoot.MQRFH2.(MQRFH2.Field)Version = 2; SET OutputRoot.XMLNSC.O = '';")
        header = done.evaluation.output_root.first("MQRFH2")
        assert header is not None
        assert [(field.name, field.value) for field in header.children] == [("Version", 2)]

    def test_an_element_of_xmlnsc(self, accepted: Runner) -> None:
        done = accepted(
            "SET OutputRoot.XMLNSC.O.(XMLNSC.Element)x = InputBody.In.(XMLNSC.Element)a;", '<In a="1"><a>2</a></In>'
        )
        assert done.xml == "<O><x>2</x></O>"

    def test_bytes_are_written_as_base64(self, accepted: Runner) -> None:
        done = accepted(
            """SET OutputRoot.XMLNSC.O.(XMLNSC.Field + XMLNSC.base64Binary)x = X'00ff10';
            SET OutputRoot.XMLNSC.O.(XMLNSC.Attribute + XMLNSC.base64Binary)y = X'00ff10';
            SET OutputRoot.XMLNSC.O.z = X'00ff10';"""
        )
        assert done.xml == '<O y="AP8Q"><x>AP8Q</x><z>00FF10</z></O>'


class TestRoutines:
    def test_a_body_may_have_a_label(self, accepted: Runner) -> None:
        done = accepted(
            """CREATE COMPUTE MODULE M
              CREATE FUNCTION Main() RETURNS BOOLEAN
              work: BEGIN
                SET Environment.a = Double(2);
                IF TRUE THEN LEAVE work; END IF;
                SET Environment.b = 1;
              END work;
              CREATE FUNCTION Double(IN n INTEGER NOT NULL, IN m CHARACTER NULLABLE) RETURNS INTEGER NOT NULL
              BEGIN RETURN 2 * n; END;
            END MODULE;""".replace("Double(2)", "Double(2, NULL)")
        )
        assert (done.value("a"), done.value("b")) == (4, None)

    @pytest.mark.parametrize("written", ["NOT NULL", "NULLABLE", "NULL", ""])
    def test_what_may_be_null_is_accepted_everywhere(self, written: str) -> None:
        text = f"""CREATE FUNCTION F(IN a INTEGER {written}, INOUT b REFERENCE {written}) RETURNS CHARACTER {written}
          BEGIN RETURN 'x'; END;"""
        assert mistakes(text) == []
        compile_program(parse_program(text))

    def test_a_routine_in_java_that_nobody_calls_does_no_harm(self, accepted: Runner) -> None:
        java = 'CREATE PROCEDURE trace(IN text CHARACTER) LANGUAGE JAVA EXTERNAL NAME "log.Log.write";'
        main = "CREATE COMPUTE MODULE M CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN {} RETURN TRUE; END; END MODULE;"
        assert accepted(java + main.format("SET Environment.a = 1;")).value("a") == 1
        assert warnings(java + main.format("")) == ["routines in JAVA cannot run here; a Python node can do their work"]
        (mistake,) = mistakes(java + main.format("CALL trace('x');"))
        assert mistake.text == "trace is written in JAVA, which is not run here; a Python node can do its work"

    def test_programs_may_have_a_base64encode_of_their_own(self, accepted: Runner) -> None:
        done = accepted(
            """CREATE FUNCTION base64Encode(IN source CHARACTER) RETURNS CHARACTER BEGIN RETURN 'my ' || source; END;
            CREATE COMPUTE MODULE M CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
              SET Environment.a = base64Encode('x');
              SET Environment.b = Base64Decode('AP8Q');
              RETURN TRUE;
            END; END MODULE;"""
        )
        assert (done.value("a"), done.value("b")) == ("my x", b"\x00\xff\x10")
