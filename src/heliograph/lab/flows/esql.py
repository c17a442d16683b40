"""The ESQL of the measured flows: the published report's where it prints it, ours where it only describes it."""

SIMPLE = """\
SET OutputRoot=InputRoot;
SET OutputRoot.XML.CSIM.A1='x';
"""

COPY = "SET OutputRoot=InputRoot;\n"

COMPLEX = """\
Set OutputRoot=InputRoot;
DECLARE i INTEGER;
DECLARE C INTEGER;
SET C=CARDINALITY(OutputRoot.XML.CSIM.TestCase.Stack.ProcessingPath.Element[]);
SET i = 1;
WHILE i <= C DO
    SET OutputRoot.XML.CSIM.TestCase.ProcessingPath.Component[i].Name =
        OutputRoot.XML.CSIM.TestCase.Stack.ProcessingPath.Element[i].COMPONENT;
    SET OutputRoot.XML.CSIM.TestCase.ProcessingPath.Component[i].Transport.(XML.attr)Type='A';
    SET OutputRoot.XML.CSIM.TestCase.ProcessingPath.Component[i].Transport.Queue =
        OutputRoot.XML.CSIM.TestCase.Stack.ProcessingPath.Element[i].QUEUE;
    SET i = i + 1;
END WHILE;
"""

NESTED_SELECT = """\
SET OutputRoot.MQMD = InputRoot.MQMD;
DECLARE style CHARACTER;
SET style = 'Style';
SET OutputRoot.MQMD = InputRoot.MQMD;
DECLARE style CHARACTER;
SET style = 'Style';
SET OutputRoot.XML.CSIM.Data.Statement[] =
(SELECT
    'Monthly' AS (XML.Attribute)Type,
    'Full' AS (0x03000000){style}[1],
    I.Initial || COALESCE(I.Initial[2], '') As Customer.Initials,
    I.Surname AS Customer.Name,
    I.Balance As Customer.Balance,
    (SELECT
        II.Description AS Desc,
        CAST(II.Price AS FLOAT) * 1.6 AS Cost,
        II.Quantity AS Qty
        FROM I.Item[] AS II WHERE II.Price > 0.0
    ) AS Purchases.Article[],
    (SELECT
        SUM( CAST(II.Price AS FLOAT) * CAST(II.Quantity AS FLOAT) * 1.6)
        FROM I.Item[] AS II
    ) AS Amount, 'Dollars' As Amount.(XML.Attribute)Currency
FROM InputRoot.XML.CSIM.Data.Invoice[] AS I WHERE I.Surname <> 'Shop');
"""

FILTER = "RETURN Root.MQRFH2.usr.Colour = 'red';\n"

SWIFT = """\
SET OutputRoot = InputRoot;
SET OutputRoot.MRM.Block4.GENL.F20C.Reference = 'CHANGED';
"""

JOIN = """\
SET OutputRoot.MQMD = InputRoot.MQMD;
SET OutputRoot.XML.Replies.CSIM[1] = InputRoot.ComIbmAggregateReplyBody.Reply1.XML.CSIM;
SET OutputRoot.XML.Replies.CSIM[2] = InputRoot.ComIbmAggregateReplyBody.Reply2.XML.CSIM;
SET OutputRoot.XML.Replies.CSIM[3] = InputRoot.ComIbmAggregateReplyBody.Reply3.XML.CSIM;
SET OutputRoot.XML.Replies.CSIM[4] = InputRoot.ComIbmAggregateReplyBody.Reply4.XML.CSIM;
"""

INSERT_DELETE = """\
INSERT INTO Database.STOCK (NUMBER, THING) VALUES (100000, Body.CSIM.A2);
DELETE FROM Database.STOCK AS S WHERE S.NUMBER = 100000;
"""

UPDATE = """\
DECLARE chosen INTEGER CAST(RAND() * 999 AS INTEGER);
UPDATE Database.STOCK AS S SET THING = Body.CSIM.A2 WHERE S.NUMBER = chosen;
"""

READ = """\
SET Environment.Variables.Row = THE(SELECT S.THING FROM Database.STOCK AS S WHERE S.NUMBER = 100);
"""


def destinations(entries: int) -> str:
    """Build a list of labels; the last is the one that is taken."""
    others = f"""\
DECLARE i INTEGER 1;
WHILE i < {entries} DO
    SET OutputLocalEnvironment.Destination.RouterList.DestinationData[i].labelName = 'other';
    SET i = i + 1;
END WHILE;
"""
    last = f"SET OutputLocalEnvironment.Destination.RouterList.DestinationData[{entries}].labelName = 'last';\n"
    return (others if entries > 1 else "") + last
