"""The ESQL parser: recursive descent from text to syntax tree, with recovery, so that it reports several errors at
once.

Theory of operation. `lexer` makes tokens of the whole text first. Keywords are not a kind of token: nearly all of them
are valid names, too, and only the parser knows what is allowed at a position. The parser is one object; its class is
the end of a chain of classes, each of which adds one level of the grammar:

    cursor.Cursor           tokens: look, expect, skip; and paths to fields
    calls                   literals and calls of built-in functions
    expression_parsing      operators by their strength
    simple_statements       statements without statements inside
    statement_parsing       blocks, branches and loops
    program_parsing         schemas, modules, routines

After an error the parser raises `Mistaken`, which the innermost list of statements catches: it records the error, skips
to where a statement can begin, and goes on. So each statement reports at most one error, and the statements behind it
are still parsed. A text with errors gives no syntax tree, but an `EsqlProblem` with all of them.

Begin with `program_parsing`.
"""
