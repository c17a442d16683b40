"""Generated readers of TDS: what they say of data that does not fit."""

import pytest

from flow.formats.modelled import Modelled, plain
from heliograph.flow.errors import FormatProblem

GROUPED = Modelled("""
formats: {T: {kind: TDS, separator: "<LF>"}}
messages:
  M:
    sequence:
      - name: G
        occurs: 1..*
        T: {separator: ",", initiator: "<LT>", terminator: "<GT>"}
        sequence: [{name: A, type: string}, {name: B, type: integer}]
""")


@pytest.mark.parametrize(
    ("data", "path", "expected", "line", "column"),
    [
        ("<a,1>\n<b,x>", "G[2].B", "an integer of 64 bits", 2, 4),
        ("<a,1>\n<b,2", "G[2]", "'>', the group's end", 2, 5),
        ("<a,1>\nb,2>", "G[2]", "'<', the group's beginning", 2, 1),
        ("<a,1,2>\n", "G", "2 elements (there are 3)", 1, 2),
        ("", "G", "1 or more of G", None, None),
    ],
)
def test_an_error_says_where_it_is(data: str, path: str, expected: str, line: int | None, column: int | None) -> None:
    with pytest.raises(FormatProblem) as caught:
        plain(GROUPED.read(data.encode()))
    problem = caught.value
    assert (problem.path, problem.expected, problem.line, problem.column) == (path, expected, line, column)
    assert problem.format == "TDS T of M"
