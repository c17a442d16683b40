"""From an ESQL text to its syntax, by recursive descent. Several mistakes are reported at once.

Theory of operation. `lexer` makes tokens of the whole text first. Keywords are no tokens of their own: nearly all may
be names, too, and only the parser knows what can stand at a place. The parser is one object; its class is put together
from a chain of classes, each of which adds one level of the grammar:

    cursor.Cursor           tokens: look, expect, skip; and paths to fields
    calls                   literals and calls of built-in functions
    expression_parsing      operators by their strength
    simple_statements       statements without statements inside
    statement_parsing       blocks, branches and loops
    program_parsing         schemas, modules, routines

After a mistake the parser raises `Mistaken`, which the innermost list of statements catches: it records the mistake,
skips to where a statement can begin, and goes on. So each statement is wrong at most once, and what follows is still
read. A text with mistakes gives no syntax, but an `EsqlProblem` with all of them.

Begin with `program_parsing`.
"""
