"""Parsing statements, and going on after those that are wrong."""

from collections.abc import Callable

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.parsing.cursor import BODY_ENDS, STATEMENT_WORDS, Mistaken
from heliograph.flow.language.esql.parsing.lexer import Token, TokenKind
from heliograph.flow.language.esql.parsing.simple_statements import TreeStatementParser
from heliograph.flow.language.esql.source_text import suggestion

_ROUTINES = ("FUNCTION", "PROCEDURE")
_LOOPS = ("WHILE", "REPEAT", "LOOP", "FOR")
_AFTER_END = frozenset({"IF", "CASE", "MODULE", *_LOOPS})


class StatementParser(TreeStatementParser):
    """Statements that hold other statements, and lists of statements."""

    def __init__(self, text: str, file: str) -> None:
        super().__init__(text, file)
        self._open: list[tuple[str, Token]] = []
        """What is not closed yet, from outside to inside: IF, CASE, WHILE, ..., BEGIN, MODULE."""
        self._end_missing_at: Token | None = None
        """Where an END was missed last; nothing else needs to be missed there."""
        self._compound: dict[str, Callable[[Token, str | None], syntax.Statement]] = {
            "BEGIN": self._block,
            "WHILE": self._while,
            "REPEAT": self._repeat,
            "LOOP": self._loop,
            "FOR": self._for,
        }
        self._statements: dict[str, Callable[[Token], syntax.Statement]] = {
            "IF": self._if,
            "CASE": self._case_statement,
            "ITERATE": self._iterate,
            "LEAVE": self._leave,
            **self.simple_statements(),
        }

    # Lists of statements

    def body(self) -> syntax.Body:
        """Statements up to something that is none, or that closes what is open."""
        statements: list[syntax.Statement] = []
        while not self._body_ends():
            statement = self.statement()
            if statement is not None:
                statements.append(statement)
        return tuple(statements)

    def _body_ends(self) -> bool:
        token = self.token
        if token.kind is TokenKind.END:
            return True
        if token.kind is not TokenKind.WORD or self.peek().upper == ":":
            return False
        return token.upper in BODY_ENDS or self.sees_definition()

    def sees_definition(self) -> bool:
        """Whether a routine or a module begins here."""
        return self.sees("CREATE") and (self.peek().upper in _ROUTINES or self.peek(2).upper == "MODULE")

    def statement(self) -> syntax.Statement | None:
        """One statement with its `;`; None if it is wrong, in which case it has been skipped."""
        start, depth, height = self.token, self._depth, len(self._open)
        try:
            with self.level():
                statement = self._any_statement()
            self._semicolon(start)
        except Mistaken:
            self._depth = depth
            del self._open[height:]
            self.skip_statement(start)
            return None
        return statement

    def _any_statement(self) -> syntax.Statement:
        start = self.token
        label = None
        if self.peek().upper == ":" and self.sees_name():
            label = self.advance().text
            self.advance()
        word = self.token.upper if self.token.kind is TokenKind.WORD else ""
        compound = self._compound.get(word)
        if compound is not None:
            self.advance()
            return compound(start, label)
        if label is not None:
            raise self.failure(f"expected BEGIN, {', '.join(_LOOPS[:-1])} or FOR behind the label, found {self.token}")
        known = self._statements.get(word)
        if known is None:
            raise self.failure(self._no_statement())
        self.advance()
        return known(start)

    def _no_statement(self) -> str:
        token = self.token
        if token.kind not in (TokenKind.WORD, TokenKind.QUOTED):
            return f"expected a statement, found {token}"
        following = self.peek().upper
        if following in ("=", ".", "["):
            return f"expected a statement, found {token}; is SET missing before it?"
        if following == "(":
            return f"expected a statement, found {token}; is CALL missing before it?"
        return f"expected a statement, found {token}{suggestion(token.text, STATEMENT_WORDS)}"

    def _semicolon(self, start: Token) -> None:
        """The `;` behind a statement: if it is missing and another statement follows, go on as if it were there."""
        if self.takes(";") or self.token is self._end_missing_at:
            return
        before = self.previous()
        place = f" in line {before.at.line}" if before.at.line != self.token.at.line else ""
        self.report(f"expected ; after {_called(start)}{place}, found {self.token}")
        if not self.at_statement():
            self.skip_statement(start)

    def handler_body(self) -> syntax.Statement:
        """The statement of a handler, without its `;`."""
        with self.level():
            return self._any_statement()

    # What is open and has to be closed

    def close(self, kind: str, start: Token, label: str | None = None) -> None:
        """Take the END of what was opened last; what is missing is closed as if it were there."""
        wanted = "END" if kind == "BEGIN" else f"END {kind}"
        while True:
            found = self._found_end()
            if found == kind or self._belongs_outside(found):
                break
            self._stray(found, wanted, kind, start)
            self.body()
        self._open.pop()
        if found != kind:
            if self.token is not self._end_missing_at:
                found_text = f"END {found}" if found in _AFTER_END else str(self.token)
                self.report(f"expected {wanted} for the {kind} of line {start.at.line}, found {found_text}")
            self._end_missing_at = self.token
            return
        self.advance()
        if kind != "BEGIN":
            self.advance()
        self._end_label(label, wanted)

    def _found_end(self) -> str:
        """What is closed here: IF, CASE, ..., BEGIN; or what stands here instead of an END."""
        if not self.sees("END"):
            return self.token.upper
        following = self.peek()
        return following.upper if following.kind is TokenKind.WORD and following.upper in _AFTER_END else "BEGIN"

    def _belongs_outside(self, found: str) -> bool:
        """Whether something further outside waits for this, so that the inner END must be missing."""
        if self.token.kind is TokenKind.END or self.sees_definition():
            return True
        if found in ("ELSE", "ELSEIF", "WHEN", "UNTIL"):
            takers = {"UNTIL": ("REPEAT",), "WHEN": ("CASE",), "ELSEIF": ("IF",)}.get(found, ("IF", "CASE"))
            return any(kind in takers for kind, _ in self._open[:-1])
        return any(kind == found for kind, _ in self._open[:-1])

    def _stray(self, found: str, wanted: str, kind: str, start: Token) -> None:
        """Report and skip an END, ELSE or the like that belongs to nothing."""
        token = self.token
        text = f"END {found}" if self.sees("END") and found != "BEGIN" else token.upper
        self.report(f"{text} belongs to nothing here; {wanted} for the {kind} of line {start.at.line} is still to come")
        self.advance()
        if text.startswith("END "):
            self.advance()
        if found in ("ELSEIF", "WHEN"):
            self.skip_to(("THEN",))
            self.takes("THEN")
        elif token.upper == "END":
            self.takes(";")

    def _end_label(self, label: str | None, wanted: str) -> None:
        if not self.sees_name() or self.at_statement():
            return
        token = self.advance()
        if token.text != label:
            named = f"its label is {label}" if label else "it has no label"
            self.report(f"{wanted} {token} closes something else: {named}", token)

    def condition(self, follow: str, where: str) -> syntax.Expression:
        """A condition and the word behind it; if it is wrong, goes on behind that word."""
        depth = self._depth
        at = self.token.at
        try:
            condition = self.expression()
            self.expect(follow, where)
        except Mistaken:
            self._depth = depth
            if self.skip_to((follow,)):
                self.advance()
            return syntax.Literal("NULL", None, at=at)
        return condition

    # Statements that hold others

    def _block(self, start: Token, label: str | None) -> syntax.Block:
        atomic = self.takes("ATOMIC")
        self.takes("NOT", "ATOMIC")
        self._open.append(("BEGIN", start))
        body = self.body()
        self.close("BEGIN", start, label)
        return syntax.Block(body, atomic, label, at=start.at)

    def _if(self, start: Token) -> syntax.If:
        self._open.append(("IF", start))
        branches = [self._branch(start, "behind the condition of IF")]
        while self.sees("ELSEIF"):
            branches.append(self._branch(self.advance(), "behind the condition of ELSEIF"))
        otherwise = self.body() if self.takes("ELSE") else ()
        self.close("IF", start)
        return syntax.If(tuple(branches), otherwise, at=start.at)

    def _branch(self, start: Token, where: str) -> syntax.Branch:
        condition = self.condition("THEN", where)
        return syntax.Branch(condition, self.body(), at=start.at)

    def _case_statement(self, start: Token) -> syntax.CaseStatement:
        self._open.append(("CASE", start))
        operand = None
        if not self.sees("WHEN"):
            depth = self._depth
            try:
                operand = self.expression()
            except Mistaken:
                self._depth = depth
                self.skip_to(("WHEN",))
        branches = []
        while self.sees("WHEN"):
            branches.append(self._branch(self.advance(), "behind the condition of WHEN"))
        if not branches:
            self.report(f"expected WHEN in the CASE, found {self.token}")
        otherwise = self.body() if self.takes("ELSE") else None
        self.close("CASE", start)
        return syntax.CaseStatement(operand, tuple(branches), otherwise, at=start.at)

    def _while(self, start: Token, label: str | None) -> syntax.While:
        self._open.append(("WHILE", start))
        condition = self.condition("DO", "behind the condition of WHILE")
        body = self.body()
        self.close("WHILE", start, label)
        return syntax.While(condition, body, label, at=start.at)

    def _repeat(self, start: Token, label: str | None) -> syntax.Repeat:
        self._open.append(("REPEAT", start))
        body = self.body()
        until: syntax.Expression = syntax.Literal("NULL", None, at=self.token.at)
        if self.takes("UNTIL"):
            depth = self._depth
            try:
                until = self.expression()
            except Mistaken:
                self._depth = depth
                self.skip_to(("END",))
        else:
            self.report(f"expected UNTIL for the REPEAT of line {start.at.line}, found {self.token}")
        self.close("REPEAT", start, label)
        return syntax.Repeat(body, until, label, at=start.at)

    def _loop(self, start: Token, label: str | None) -> syntax.Loop:
        self._open.append(("LOOP", start))
        body = self.body()
        self.close("LOOP", start, label)
        return syntax.Loop(body, label, at=start.at)

    def _for(self, start: Token, label: str | None) -> syntax.Statement:
        self._open.append(("FOR", start))
        depth = self._depth
        name, source = "", None
        try:
            name = self.name("a name behind FOR")
            self.expect("AS", "behind the name of FOR")
            source = self.field_reference("the list that FOR goes through")
            self.expect("DO", "behind the list of FOR")
        except Mistaken:
            self._depth = depth
            if self.skip_to(("DO",)):
                self.advance()
        body = self.body()
        self.close("FOR", start, label)
        if source is None:
            return syntax.Block(body, at=start.at)
        return syntax.For(name, source, body, label, at=start.at)

    def _iterate(self, start: Token) -> syntax.Iterate:
        return syntax.Iterate(self.name("the label of a loop behind ITERATE"), at=start.at)

    def _leave(self, start: Token) -> syntax.Leave:
        return syntax.Leave(self.name("the label of a loop or block behind LEAVE"), at=start.at)


def _called(start: Token) -> str:
    return f"the {start.upper} statement" if start.upper in STATEMENT_WORDS else "the statement"
