"""The ESQL of the measured flows: that of the published report where it prints it, our own where it says only in words."""

from collections.abc import Sequence

SIMPLE = """\
SET OutputRoot=InputRoot;
SET OutputRoot.XML.CSIM.A1='x';
"""

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

INSERT_DELETE = """\
INSERT INTO Database.STOCK (NUMBER, THING) VALUES (100000, Body.CSIM.A2);
DELETE FROM Database.STOCK AS S WHERE S.NUMBER = 100000;
"""

UPDATE = """\
DECLARE chosen INTEGER CAST(RAND() * 1000 AS INTEGER);
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
    return f"""\
SET OutputRoot = InputRoot;
{others if entries > 1 else ""}\
SET OutputLocalEnvironment.Destination.RouterList.DestinationData[{entries}].labelName = 'last';
"""


def conversion(source: str, target: str, fields: Sequence[str]) -> str:
    """Copy every field from one format to another."""
    read = "InputRoot.XML.Record" if source == "xml" else "InputRoot.MRM"
    write = "OutputRoot.XML.Converted" if target == "xml" else "OutputRoot.MRM"
    lines = ["SET OutputRoot.MQMD = InputRoot.MQMD;"]
    if target != "xml":
        lines += [
            "SET OutputRoot.Properties.MessageSet = 'record';",
            "SET OutputRoot.Properties.MessageType = 'Record';",
            f"SET OutputRoot.Properties.MessageFormat = '{target.upper()}';",
        ]
    lines += [f"SET {write}.{name} = {read}.{name};" for name in [*fields, "Padding"]]
    return "\n".join(lines) + "\n"
