"""Values in XML, as XML Schema writes them."""

from datetime import datetime, time
from typing import Any

import pytest

from flow.formats.modelled import plain
from flow.formats.mrm_xml.xml_values import VALUES
from heliograph.flow.errors import FormatProblem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<T>23:59:58.5</T>", time(23, 59, 58, 500000)),
        ("<W>2026-01-31T12:00:00+02:00</W>", datetime(2026, 1, 31, 10)),
        ("<B> 1 </B>", True),
        ("<F>-INF</F>", float("-inf")),
        ("<I> +7\n</I>", 7),
        ("<X>AP8=</X>", b"\x00\xff"),
        ("<I><!-- seven -->7</I>", 7),
        ("<I><![CDATA[7]]></I>", 7),
    ],
)
def test_what_xml_schema_allows_is_read(text: str, value: Any) -> None:
    assert plain(VALUES.read(f"<message><text>a</text>{text}</message>".encode()))[1][1] == value


@pytest.mark.parametrize(
    "text", ["<I>1_0</I>", "<N>1e5</N>", "<F>inf</F>", "<B>yes</B>", "<X>?</X>", "<T>24</T>", "<I/>"]
)
def test_what_it_does_not_allow_is_refused(text: str) -> None:
    with pytest.raises(FormatProblem):
        plain(VALUES.read(f"<message><text>a</text>{text}</message>".encode()))
