"""ASBITSTREAM and CREATE ... PARSE: each undoes what the other did."""

import pytest

from heliograph.flow.errors import StatementError

ORDER = "<o><c x='1'><d>5</d></c><e/></o>"


@pytest.mark.parametrize("domain", ["XML", "XMLNS", "XMLNSC"])
@pytest.mark.parametrize("options", ["RootBitStream", "EmbeddedBitStream", "FolderBitStream"])
@pytest.mark.parametrize("ccsid", [1208, 819, 500, 1200])
def test_parse_undoes_as_bit_stream_with_the_same_options(run, domain, options, ccsid):
    outcome = run(
        f"""CREATE LASTCHILD OF OutputRoot DOMAIN '{domain}'
              PARSE(ASBITSTREAM(InputRoot.{domain} OPTIONS {options} CCSID {ccsid}) OPTIONS {options} CCSID {ccsid});
            SET Environment.text = CAST(ASBITSTREAM(OutputRoot.{domain} CCSID 1208) AS CHARACTER CCSID 1208);""",
        ORDER,
        domain=domain,
    )

    assert outcome.value("text").replace('"', "'") == ORDER


def test_a_folder_that_was_made_bytes_becomes_a_folder_again_inside_a_part(run):
    outcome = run(
        """DECLARE bytes BLOB ASBITSTREAM(InputRoot.XMLNSC.o.c OPTIONS FolderBitStream);
        SET OutputRoot.XMLNSC.copy.before = 1;
        CREATE LASTCHILD OF OutputRoot.XMLNSC.copy DOMAIN 'XMLNSC' PARSE(bytes OPTIONS FolderBitStream);
        CREATE NEXTSIBLING OF OutputRoot.XMLNSC.copy.before PARSE(bytes OPTIONS FolderBitStream);""",
        ORDER,
        domain="XMLNSC",
    )

    folder = '<c x="1"><d>5</d></c>'
    assert outcome.xml == f"<copy><before>1</before>{folder}{folder}</copy>"


def test_a_folder_parsed_where_no_part_is_becomes_a_part(run):
    outcome = run(
        """CREATE LASTCHILD OF Environment.Kept DOMAIN 'XMLNSC' NAME 'Order'
          PARSE(ASBITSTREAM(InputRoot.XMLNSC.o.c OPTIONS FolderBitStream) OPTIONS FolderBitStream);
        SET Environment.d = Environment.Kept.Order.c.d;
        SET OutputRoot.BLOB.BLOB = ASBITSTREAM(Environment.Kept.Order);""",
        ORDER,
        domain="XMLNSC",
    )

    assert (outcome.value("d"), outcome.xml) == ("5", '<c x="1"><d>5</d></c>')


def test_a_folder_of_a_json_message_is_a_document_of_its_own(run):
    outcome = run(
        """CREATE LASTCHILD OF OutputRoot DOMAIN 'JSON' PARSE(CAST('{"a":{"b":[1,2]}}' AS BLOB CCSID 1208));
        SET Environment.text =
          CAST(ASBITSTREAM(OutputRoot.JSON.Data.a OPTIONS FolderBitStream CCSID 1208) AS CHARACTER CCSID 1208);
        CREATE LASTCHILD OF OutputRoot.JSON.Data NAME 'copy'
          PARSE(CAST(Environment.text AS BLOB CCSID 1208) OPTIONS FolderBitStream);"""
    )

    assert outcome.value("text") == '{"b":[1,2]}'
    assert outcome.xml == '{"a":{"b":[1,2]},"copy":{"b":[1,2]}}'


HEADERS = """SET OutputRoot.MQMD.CodedCharSetId = 819;
SET OutputRoot.MQRFH2.CodedCharSetId = <second>;
SET OutputRoot.XMLNSC.a = 'ü';
"""


@pytest.mark.parametrize(("second", "written"), [(500, "<a>ü</a>".encode("cp500")), (-2, b"<a>\xfc</a>")])
def test_embedded_bytes_are_written_as_the_headers_before_say(run, second, written):
    text = HEADERS.replace("<second>", str(second))
    outcome = run(text + "SET Environment.b = ASBITSTREAM(OutputRoot.XMLNSC OPTIONS EmbeddedBitStream);")

    assert outcome.value("b") == written


@pytest.mark.parametrize(
    "where", ["LASTCHILD OF OutputRoot", "NEXTSIBLING OF OutputRoot.MQMD", "PREVIOUSSIBLING OF OutputRoot.BLOB"]
)
def test_embedded_bytes_are_read_as_the_headers_before_say(run, where):
    outcome = run(
        f"""SET OutputRoot.MQMD.CodedCharSetId = 819;
        {"CREATE LASTCHILD OF OutputRoot DOMAIN 'BLOB';" if "BLOB" in where else ""}
        CREATE {where} DOMAIN 'XMLNSC' PARSE(X'3c613efc3c2f613e' OPTIONS EmbeddedBitStream);
        SET Environment.a = OutputRoot.XMLNSC.a;"""
    )

    assert outcome.value("a") == "ü"


def test_a_clause_goes_before_what_headers_say(run):
    outcome = run(
        HEADERS.replace("<second>", "500")
        + "SET Environment.b = ASBITSTREAM(OutputRoot.XMLNSC OPTIONS EmbeddedBitStream CCSID 1208);"
    )

    assert outcome.value("b") == "<a>ü</a>".encode()


@pytest.mark.parametrize("clause", ["OPTIONS", "ENCODING", "CCSID", "SET", "TYPE", "FORMAT"])
def test_as_bit_stream_is_null_if_any_clause_is(value, clause):
    assert value(f"ASBITSTREAM(InputRoot.XML {clause} NULL)", ORDER) is None


@pytest.mark.parametrize(
    ("clauses", "reason"),
    [
        ("CCSID 'x'", "CCSID of ASBITSTREAM is an INTEGER, not CHARACTER"),
        ("SET 5", "SET of ASBITSTREAM is CHARACTER, not INTEGER"),
        ("OPTIONS 77", "OPTIONS of ASBITSTREAM are one of RootBitStream, EmbeddedBitStream, FolderBitStream, not 77"),
    ],
)
def test_a_clause_that_makes_no_sense_is_an_error_that_names_it(value, clauses, reason):
    with pytest.raises(StatementError, match=reason):
        value(f"ASBITSTREAM(InputRoot.XML {clauses})", ORDER)


def test_options_of_validation_do_not_change_what_is_written(value):
    assert value("ASBITSTREAM(InputRoot.XML OPTIONS BITOR(FolderBitStream, ValidateContent))", ORDER) is not None


def test_bytes_that_cannot_be_read_are_an_error_of_the_statement_that_looks_at_them(run):
    with pytest.raises(StatementError, match=r"test.esql:2: .*well-formed"):
        run("CREATE LASTCHILD OF OutputRoot DOMAIN 'XML' PARSE(X'00');\nSET Environment.a = OutputRoot.XML.a;")
