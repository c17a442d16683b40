"""Parsing whole ESQL texts: schemas, routines, modules, and statements without a module around them."""

from heliograph.flow.errors import EsqlProblem
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.parsing.cursor import Mistaken
from heliograph.flow.language.esql.parsing.lexer import Token, TokenKind
from heliograph.flow.language.esql.parsing.statement_parsing import StatementParser
from heliograph.flow.language.esql.source_text import MOST_MISTAKES, suggestion

_MODULE_KINDS = ("COMPUTE", "DATABASE", "FILTER", "DATABASEEVENT")
_LANGUAGES = ("ESQL", "DATABASE", "JAVA", "CLR")


def parse_program(text: str, file: str = "", kind: str = "COMPUTE") -> syntax.Program:
    """The program that the text of a file is; raises `EsqlProblem` with all mistakes in it.

    Statements without a module around them become the function Main of a module of this kind, which has no name, and
    (but for a filter) return TRUE at their end.
    """
    return _Parser(text, file).program(kind)


def parse_expression(text: str, file: str = "") -> syntax.Expression:
    """The expression that the text is; raises `EsqlProblem` with the mistakes in it."""
    return _Parser(text, file).only_expression()


class _Parser(StatementParser):
    def __init__(self, text: str, file: str) -> None:
        super().__init__(text, file)
        self._declarations: list[syntax.Declaration] = []
        self._routines: list[syntax.Routine] = []
        self._modules: list[syntax.Module] = []
        self._bare: list[syntax.Statement] = []
        """Statements outside of modules and routines, declarations too."""

    def only_expression(self) -> syntax.Expression:
        """The whole text as one expression."""
        try:
            expression = self.expression()
            self.takes(";")
            if self.token.kind is not TokenKind.END:
                raise self.failure(f"expected an operator or the end of the expression, found {self.token}")
        except Mistaken:
            raise self._problem() from None
        if self.mistakes:
            raise self._problem()
        return expression

    def program(self, kind: str) -> syntax.Program:
        """The whole text as a program."""
        schema: tuple[str, ...] = ()
        path: list[tuple[str, ...]] = []
        try:
            if self.takes("BROKER", "SCHEMA"):
                schema = self._dotted("the name of a schema")
                self.takes(";")
            if self.sees("PATH") and self.peek().kind is TokenKind.WORD:
                self.advance()
                path.append(self._dotted("the name of a schema behind PATH"))
                while self.takes(","):
                    path.append(self._dotted("the name of a schema behind ,"))
                self.takes(";")
        except Mistaken:
            self.skip_statement(self.token)
        while self.token.kind is not TokenKind.END:
            self._top_level()
        self._place_bare_statements(kind)
        if self.mistakes:
            raise self._problem()
        return syntax.Program(
            schema,
            tuple(path),
            tuple(self._declarations),
            tuple(self._routines),
            tuple(self._modules),
            text=self.source.text,
            file=self.source.file,
            warnings=tuple(self.warnings),
            at=syntax.Position(1, 1),
        )

    def _problem(self) -> EsqlProblem:
        return EsqlProblem(self.mistakes[:MOST_MISTAKES])

    def _dotted(self, what: str) -> tuple[str, ...]:
        names = [self.name(what)]
        while self.takes("."):
            names.append(self.name(what))
        return tuple(names)

    # Outside of modules

    def _top_level(self) -> None:
        start = self.token
        if self.sees_definition():
            self._definition()
        elif self._body_ends():
            self.report(f"{start} belongs to nothing here")
            self.advance()
            if start.upper == "END":
                self.takes_one_of(("IF", "CASE", "WHILE", "REPEAT", "LOOP", "FOR", "MODULE"))
                self.takes(";")
        else:
            statement = self.statement()
            if statement is not None:
                self._bare.append(statement)

    def _definition(self) -> None:
        """A routine or a module; after a mistake in its head, what is behind it is read as if it stood alone."""
        start, depth = self.advance(), self._depth
        try:
            if self.token.upper in ("FUNCTION", "PROCEDURE"):
                self._routines.append(self._routine(start))
            else:
                self._modules.append(self._module(start))
        except Mistaken:
            self._depth = depth
            self._open.clear()
            self.skip_statement(start)

    def _place_bare_statements(self, kind: str) -> None:
        """Declarations alone belong to the schema; with other statements they are a module's Main."""
        if all(isinstance(statement, syntax.Declaration) for statement in self._bare):
            self._declarations.extend(item for item in self._bare if isinstance(item, syntax.Declaration))
            return
        if self._modules:
            for statement in self._bare:
                if not isinstance(statement, syntax.Declaration):
                    text = "this statement stands outside of the modules; it belongs into a routine"
                    self.mistakes.append(self.source.mistake(*statement.at, text))
            return
        body = tuple(self._bare)
        if kind != "FILTER" and not isinstance(body[-1], syntax.Return):
            at = self.token.at
            body += (syntax.Return(syntax.Literal("BOOLEAN", True, at=at), at=at),)
        at = body[0].at
        main = syntax.Routine(
            "FUNCTION", "Main", (), syntax.DataType("BOOLEAN", at=at), body=syntax.Block(body, at=at), at=at
        )
        self._modules.append(syntax.Module(kind, "", (), (*self._routines, main), at=at))
        self._routines.clear()

    # Modules and routines; CREATE has been taken

    def _module(self, start: Token) -> syntax.Module:
        kind = self.takes_one_of(_MODULE_KINDS)
        if kind is None:
            word = self.advance()
            kinds = f"{', '.join(_MODULE_KINDS[:-1])} or {_MODULE_KINDS[-1]}"
            self.report(f"expected {kinds}, found {word}{suggestion(word.text, _MODULE_KINDS)}", word)
        self.expect("MODULE", f"behind CREATE {kind}")
        name = self.name("the name of a module")
        self.takes(";")
        self._open.append(("MODULE", start))
        declarations: list[syntax.Declaration] = []
        routines: list[syntax.Routine] = []
        while not self._module_ends():
            self._module_item(declarations, routines)
        self.close("MODULE", start)
        if not self.takes(";") and self.token.kind is not TokenKind.END and self.token is not self._end_missing_at:
            self.report(f"expected ; after END MODULE, found {self.token}")
        return syntax.Module(kind or "COMPUTE", name, tuple(declarations), tuple(routines), at=start.at)

    def _module_ends(self) -> bool:
        return self.token.kind is TokenKind.END or self.sees("END", "MODULE") or self._sees_module()

    def _sees_module(self) -> bool:
        return self.sees("CREATE") and self.peek(2).upper == "MODULE"

    def _module_item(self, declarations: list[syntax.Declaration], routines: list[syntax.Routine]) -> None:
        start, depth, height = self.token, self._depth, len(self._open)
        if self.sees_definition():
            self.advance()
            try:
                routines.append(self._routine(start))
            except Mistaken:
                self._depth = depth
                del self._open[height:]
                self.skip_statement(start)
        elif self._body_ends():
            self.report(f"{start} belongs to nothing here: a module holds declarations and routines")
            self.advance()
            if start.upper == "END":
                self.takes_one_of(("IF", "CASE", "WHILE", "REPEAT", "LOOP", "FOR"))
                self.takes(";")
        else:
            statement = self.statement()
            if isinstance(statement, syntax.Declaration):
                declarations.append(statement)
            elif statement is not None:
                self.report("this statement belongs into a routine: a module holds declarations and routines", start)

    def _routine(self, start: Token) -> syntax.Routine:
        kind = self.advance().upper
        name = self.name(f"the name of a {kind.lower()}")
        parameters: tuple[syntax.Parameter, ...] = ()
        returns, not_null, language, result_sets = None, False, "ESQL", 0
        depth = self._depth
        try:
            parameters = self._parameters(name)
            if self.takes("RETURNS"):
                returns = self.data_type()
                not_null = self._not_null()
            language = self._language()
            if self.takes("DYNAMIC", "RESULT", "SETS"):
                result_sets = self.whole_number("the result sets")
        except Mistaken:
            self._depth = depth
            if not self.skip_to(("BEGIN",)):
                raise
        if self.takes("EXTERNAL"):
            external = self._external_name()
            self._routine_end(kind)
            return syntax.Routine(
                kind, name, parameters, returns, not_null, language, result_sets, None, external, at=start.at
            )
        body = self._routine_body(name)
        self._routine_end(kind)
        return syntax.Routine(kind, name, parameters, returns, not_null, language, result_sets, body, at=start.at)

    def _routine_body(self, name: str) -> syntax.Statement:
        labelled = self.sees_name() and self.peek().upper == ":"
        if not labelled and (not self.at_statement() or self.sees("END")):
            raise self.failure(f"expected BEGIN or EXTERNAL NAME for {name}, found {self.token}")
        with self.level():
            return self._any_statement()

    def _routine_end(self, kind: str) -> None:
        if self.takes(";") or self.token is self._end_missing_at:
            return
        # The `;` behind the last statement of a text is often missing.
        if self.token.kind is not TokenKind.END:
            self.report(f"expected ; after the {kind.lower()}, found {self.token}")
            if not self.at_statement():
                self.skip_statement(self.token)

    def _parameters(self, name: str) -> tuple[syntax.Parameter, ...]:
        self.expect("(", f"behind {name}")
        parameters = [] if self.sees(")") else [self._parameter()]
        while self.takes(","):
            parameters.append(self._parameter())
        self.expect(")", f"behind the parameters of {name}")
        return tuple(parameters)

    def _parameter(self) -> syntax.Parameter:
        at = self.token.at
        mode = "IN"
        if self.token.upper in ("IN", "OUT", "INOUT") and self.peek().kind in (TokenKind.WORD, TokenKind.QUOTED):
            mode = self.advance().upper
        name = self.name("the name of a parameter")
        constant = self.takes("CONSTANT")
        kind = self.declared_type()
        if kind.name == "REFERENCE":
            self.takes("TO")
        self._not_null()
        return syntax.Parameter(name, kind, mode, constant, at=at)

    def _not_null(self) -> bool:
        """`NOT NULL`, `NULL` or `NULLABLE`, which are for the reader: a value may be NULL whatever they say."""
        not_null = self.takes("NOT", "NULL")
        self.takes_one_of(("NULLABLE", "NULL"))
        return not_null

    def _language(self) -> str:
        if not self.takes("LANGUAGE"):
            return "ESQL"
        if self.takes(".", "NET"):
            return ".NET"
        return self.expect_one_of(_LANGUAGES, "ESQL, DATABASE, JAVA, .NET or CLR behind LANGUAGE")

    def _external_name(self) -> str:
        self.expect("NAME", "behind EXTERNAL")
        if self.token.kind is TokenKind.STRING:
            return self.advance().text
        return self.name("the external name, in double quotes,")
