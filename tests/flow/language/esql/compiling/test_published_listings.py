"""ESQL that has been published with its results, unchanged."""

import pytest

from heliograph.lab.flows.esql import COMPLEX, NESTED_SELECT, SIMPLE


def test_simple_compute_adds_one_field(run):
    assert run(SIMPLE, "<CSIM><B>1</B></CSIM>").xml == "<CSIM><B>1</B><A1>x</A1></CSIM>"


def test_simple_compute_overwrites_the_field(run):
    assert run(SIMPLE, "<CSIM><A1>old</A1><B>1</B></CSIM>").xml == "<CSIM><A1>x</A1><B>1</B></CSIM>"


STACK = (
    "<CSIM><TestCase><Stack><ProcessingPath>"
    "<Element><COMPONENT>C1</COMPONENT><QUEUE>Q1</QUEUE></Element>"
    "<Element><COMPONENT>C2</COMPONENT></Element>"
    "</ProcessingPath></Stack>{}</TestCase></CSIM>"
)
PATH = (
    '<ProcessingPath><Component><Name>C1</Name><Transport Type="A"><Queue>Q1</Queue></Transport></Component>'
    '<Component><Name>C2</Name><Transport Type="A"/></Component></ProcessingPath>'
)


def test_complex_compute_builds_a_component_for_each_element(run):
    assert run(COMPLEX, STACK.format("")).xml == STACK.format(PATH)


def test_very_complex_compute_repeats_the_same_without_a_change(run):
    assert run(COMPLEX * 5, STACK.format("")).xml == STACK.format(PATH)


def test_multiple_complex_computes_one_after_the_other_end_at_the_same_message(run):
    body = STACK.format("")
    for _ in range(5):
        body = run(COMPLEX, body).xml
    assert body == STACK.format(PATH)


INVOICES = """<CSIM><Data>\
<Invoice><Initial>A</Initial><Initial>J</Initial><Surname>Smith</Surname><Balance>12.50</Balance>\
<Item><Description Form="Paperback">The XML Companion</Description><Price>27.95</Price><Quantity>2</Quantity></Item>\
<Item><Description>Sample</Description><Price>0</Price><Quantity>9</Quantity></Item>\
<Item><Description>JAVA 2 Developers Handbook</Description><Price>59.99</Price><Quantity>1</Quantity></Item>\
</Invoice>\
<Invoice><Initial>X</Initial><Surname>Shop</Surname></Invoice>\
<Invoice><Initial>B</Initial><Surname>Brown</Surname><Balance>0</Balance></Invoice>\
</Data></CSIM>"""


def test_nested_select_makes_a_statement_for_each_customer(run):
    assert run(NESTED_SELECT, INVOICES).xml == (
        '<CSIM><Data><Statement Type="Monthly" Style="Full">'
        "<Customer><Initials>AJ</Initials><Name>Smith</Name><Balance>12.50</Balance></Customer>"
        '<Purchases><Article><Desc Form="Paperback">The XML Companion</Desc><Cost>4.472E+1</Cost><Qty>2</Qty></Article>'
        "<Article><Desc>JAVA 2 Developers Handbook</Desc><Cost>9.5984E+1</Cost><Qty>1</Qty></Article></Purchases>"
        '<Amount Currency="Dollars">1.85424E+2</Amount></Statement>'
        '<Statement Type="Monthly" Style="Full">'
        "<Customer><Initials>B</Initials><Name>Brown</Name><Balance>0</Balance></Customer><Purchases/>"
        '<Amount Currency="Dollars"/></Statement></Data></CSIM>'
    )


# The invoice that IBM's help works its examples on, as far as they use it, and the results printed there.
INVOICE = """<Invoice><Cashier StaffNo="089">Mary</Cashier>\
<Customer><FirstName>Andrew</FirstName><LastName>Smith</LastName><Title>Mr</Title><PhoneHome>01962818000</PhoneHome></Customer>\
<Purchases>\
<Item><Title Category="Computer" Form="Paperback" Edition="2">The XML Companion</Title><Author>Neil Bradley</Author>\
<UnitPrice>27.95</UnitPrice><Quantity>2</Quantity></Item>\
<Item><Title Category="Computer" Form="Paperback" Edition="2">A Complete Guide to DB2 Universal Database</Title>\
<Author>Don Chamberlin</Author><UnitPrice>42.95</UnitPrice><Quantity>1</Quantity></Item>\
<Item><Title Category="Computer" Form="Hardcover" Edition="0">JAVA 2 Developers Handbook</Title>\
<Author>Philip Heller, Simon Roberts</Author><UnitPrice>59.99</UnitPrice><Quantity>1</Quantity></Item>\
</Purchases></Invoice>"""


def test_transforming_a_simple_message_takes_the_order_of_the_select(run):
    text = """SET OutputRoot.XML.Data.Output[] =
        (SELECT R.Quantity, R.Author FROM InputRoot.XML.Invoice.Purchases.Item[] AS R);"""
    assert run(text, INVOICE).xml == (
        "<Data><Output><Quantity>2</Quantity><Author>Neil Bradley</Author></Output>"
        "<Output><Quantity>1</Quantity><Author>Don Chamberlin</Author></Output>"
        "<Output><Quantity>1</Quantity><Author>Philip Heller, Simon Roberts</Author></Output></Data>"
    )


def test_transforming_a_simple_message_by_a_loop_gives_the_same(run):
    text = """DECLARE i INTEGER 1;
        DECLARE count INTEGER CARDINALITY(InputRoot.XML.Invoice.Purchases.Item[]);
        WHILE (i <= count) DO
           SET OutputRoot.XML.Data.Output[i].Quantity = InputRoot.XML.Invoice.Purchases.Item[i].Quantity;
           SET OutputRoot.XML.Data.Output[i].Author   = InputRoot.XML.Invoice.Purchases.Item[i].Author;
           SET i = i+1;
        END WHILE;"""
    select = """SET OutputRoot.XML.Data.Output[] =
        (SELECT R.Quantity, R.Author FROM InputRoot.XML.Invoice.Purchases.Item[] AS R);"""
    assert run(text, INVOICE).xml == run(select, INVOICE).xml


def test_transforming_a_simple_message_into_folders(run):
    text = """SET OutputRoot.XML.Data.Output[] = (SELECT R.Quantity AS Book.Quantity, R.Author AS Book.Author
        FROM InputRoot.XML.Invoice.Purchases.Item[] AS R WHERE R.Quantity = '2');"""
    assert run(text, INVOICE).xml == (
        "<Data><Output><Book><Quantity>2</Quantity><Author>Neil Bradley</Author></Book></Output></Data>"
    )


def test_transforming_a_complex_message(run):
    text = """SET OutputRoot.XML.Data.Statement[] =
    (SELECT I.Customer.Title                                     AS Customer.Title,
            I.Customer.FirstName || ' ' || I.Customer.LastName   AS Customer.Name,
            COALESCE(I.Customer.PhoneHome,'')                    AS Customer.Phone,
            (SELECT II.Title                          AS Desc,
                    CAST(II.UnitPrice AS FLOAT) * 1.6 AS Cost,
                    II.Quantity                       AS Qty
             FROM I.Purchases.Item[] AS II
             WHERE  II.UnitPrice> 0.0              )     AS Purchases.Article[],
            (SELECT SUM( CAST(II.UnitPrice AS FLOAT) *
                    CAST(II.Quantity  AS FLOAT) *
                    1.6                           )
             FROM I.Purchases.Item[] AS II      )       AS Amount,
            'Dollars'                                   AS Amount.(XML.Attribute)Currency
            FROM InputRoot.XML.Invoice[] AS I
            WHERE I.Customer.LastName <> 'Brown'
    );"""
    assert run(text, INVOICE).xml == (
        "<Data><Statement><Customer><Title>Mr</Title><Name>Andrew Smith</Name><Phone>01962818000</Phone></Customer>"
        "<Purchases>"
        '<Article><Desc Category="Computer" Form="Paperback" Edition="2">The XML Companion</Desc>'
        "<Cost>4.472E+1</Cost><Qty>2</Qty></Article>"
        '<Article><Desc Category="Computer" Form="Paperback" Edition="2">'
        "A Complete Guide to DB2 Universal Database</Desc><Cost>6.872E+1</Cost><Qty>1</Qty></Article>"
        '<Article><Desc Category="Computer" Form="Hardcover" Edition="0">JAVA 2 Developers Handbook</Desc>'
        "<Cost>9.5984E+1</Cost><Qty>1</Qty></Article></Purchases>"
        '<Amount Currency="Dollars">2.54144E+2</Amount></Statement></Data>'
    )


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        pytest.param(
            "SET OutputRoot.XML.Test.Result[] = SELECT ITEM T.UnitPrice FROM InputBody.Invoice.Purchases.Item[] AS T;",
            "<Test><Result>27.95</Result><Result>42.95</Result><Result>59.99</Result></Test>",
            id="ITEM gives a list of scalars",
        ),
        pytest.param(
            "SET OutputRoot.XML.Test.Result[] = (SELECT T.UnitPrice FROM InputBody.Invoice.Purchases.Item[] AS T);",
            "<Test><Result><UnitPrice>27.95</UnitPrice></Result><Result><UnitPrice>42.95</UnitPrice></Result>"
            "<Result><UnitPrice>59.99</UnitPrice></Result></Test>",
            id="without ITEM each is a row",
        ),
        pytest.param(
            "SET OutputRoot.XML.Test.Result = THE (SELECT T.Author FROM InputBody.Invoice.Purchases.Item[] AS T"
            " WHERE T.UnitPrice = 42.95);",
            "<Test><Result><Author>Don Chamberlin</Author></Result></Test>",
            id="THE gives a row",
        ),
        pytest.param(
            "SET OutputRoot.XML.Test.Result = THE (SELECT ITEM T.Author FROM InputBody.Invoice.Purchases.Item[] AS T"
            " WHERE T.UnitPrice = 42.95);",
            "<Test><Result>Don Chamberlin</Result></Test>",
            id="THE with ITEM gives a scalar",
        ),
    ],
)
def test_returning_a_scalar_value(run, select, expected):
    assert run(select, INVOICE).xml == expected


PLACES = "<Places><first>Ken</first><second>Bob</second><third>Kate</third></Places>"
LOTTERY = (
    "<Lottery><FirstDraw>wednesday<ball1>32</ball1><ball2>12</ball2></FirstDraw>"
    "<SecondDraw>saturday<ball1>32</ball1><ball2>12</ball2></SecondDraw></Lottery>"
)


@pytest.mark.parametrize(
    ("xml", "condition", "expected"),
    [
        (
            "<Data><Name>Raf</Name><Age>25</Age></Data>",
            "ROW(InputBody.Data.*[1],InputBody.Data.*[2]) = ROW('Raf' AS Name,'25' AS Age)",
            True,
        ),
        (
            "<Data><Name>Raf</Name><Age>25</Age></Data>",
            "LIST{InputBody.Data.Name, InputBody.Data.Age} = LIST{'Raf','25'}",
            True,
        ),
        ("", "ROW('alpha' AS A, 'beta' AS B) = ROW('alpha' AS A, 'beta' AS B, 'delta' AS D)", False),
        ("", "ROW('alpha' AS A, 'beta' AS B) = ROW('beta' AS B,'alpha' AS A)", False),
        ("", "LIST{1,2,3} = LIST{1,2,3,4}", False),
        ("", "LIST{3,2,1} = LIST{1,2,3}", False),
        (PLACES, "InputBody.Places = ROW('Ken' AS first, 'Bob' AS second, 'Kate' AS third)", True),
    ],
)
def test_row_and_list_comparisons(value, xml, condition, expected):
    assert value(condition, xml) is expected


def test_fields_without_a_row_beside_them_are_compared_by_value_alone(value):
    assert value("InputBody.Lottery.FirstDraw = InputBody.Lottery.SecondDraw", LOTTERY) is not True


def test_a_list_takes_the_place_of_all_instances(run):
    data = "<Data><Field>Keats</Field><Field>Shelley</Field><Field>Wordsworth</Field></Data>"
    text = "SET OutputRoot = InputRoot; SET OutputRoot.XML.Data.Field[] = LIST{'Henri','McGough'};"
    assert run(text, data).xml == "<Data><Field>Henri</Field><Field>McGough</Field></Data>"
