"""The parser's cursor: looking at and taking tokens, reporting errors, resuming after an error; and field paths."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from heliograph.flow.errors import EsqlMistake
from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.names import field_type, names_of
from heliograph.flow.language.esql.parsing.lexer import Lexer, Token, TokenKind
from heliograph.flow.language.esql.source_text import Source, suggestion

MOST_NESTING = 50
"""How deep statements and expressions may stand in each other. Every level costs the parser some frames of Python."""

_NAMES = (TokenKind.WORD, TokenKind.QUOTED)

RESERVED = frozenset(
    ["ALL", "ASYMMETRIC", "BOTH", "CASE", "DISTINCT", "FROM", "ITEM", "LEADING", "NOT", "SYMMETRIC", "TRAILING", "WHEN"]
)
"""The only words that cannot be names without quotes."""

STATEMENT_WORDS = frozenset(
    [
        "ATTACH",
        "BEGIN",
        "CALL",
        "CASE",
        "COMMIT",
        "CREATE",
        "DECLARE",
        "DELETE",
        "DETACH",
        "EVAL",
        "FOR",
        "IF",
        "INSERT",
        "ITERATE",
        "LEAVE",
        "LOG",
        "LOOP",
        "MOVE",
        "PASSTHRU",
        "PROPAGATE",
        "REPEAT",
        "RESIGNAL",
        "RETURN",
        "ROLLBACK",
        "SET",
        "THROW",
        "UPDATE",
        "WHILE",
    ]
)
_ALSO_EXPRESSIONS = frozenset({"CASE", "EVAL", "FOR", "PASSTHRU"})
"""Words that begin statements, and expressions too."""
BODY_ENDS = frozenset(["END", "ELSE", "ELSEIF", "WHEN", "UNTIL"])
"""What ends a list of statements."""


class Mistaken(Exception):
    """The parser cannot go on here; the mistake is in the list already."""


class Cursor:
    """A place in the tokens of a text."""

    def __init__(self, text: str, file: str) -> None:
        self.source = Source(text, file)
        lexer = Lexer(self.source)
        self._tokens = lexer.read()
        self._at = 0
        self._last = len(self._tokens) - 1
        self._depth = 0
        self.token = self._tokens[0]
        """The token that is looked at."""
        self.mistakes: list[EsqlMistake] = lexer.mistakes
        self.warnings: list[EsqlMistake] = []

    # Looking and taking

    def advance(self) -> Token:
        """Take the token, whatever it is."""
        token = self.token
        if self._at < self._last:
            self._at += 1
            self.token = self._tokens[self._at]
        return token

    def peek(self, distance: int = 1) -> Token:
        """A token further on."""
        return self._tokens[min(self._at + distance, self._last)]

    def previous(self) -> Token:
        """The token that was taken last."""
        return self._tokens[max(self._at - 1, 0)]

    def sees(self, *words: str) -> bool:
        """Whether these words or symbols come next, one after the other."""
        if self.token.upper != words[0]:
            return False
        return len(words) == 1 or all(self.peek(ahead).upper == words[ahead] for ahead in range(1, len(words)))

    def takes(self, *words: str) -> bool:
        """Take these words or symbols, if they come next."""
        if self.token.upper != words[0] or (len(words) > 1 and not self.sees(*words)):
            return False
        for _ in words:
            self.advance()
        return True

    def takes_one_of(self, words: Collection[str]) -> str | None:
        """Take one of these words, if one comes next."""
        word = self.token.upper
        if word and word in words:
            self.advance()
            return word
        return None

    def expect(self, word: str, where: str) -> Token:
        """Take this word or symbol, or say that it is missing."""
        if self.token.upper != word:
            raise self.failure(f"expected {word} {where}, found {self.token}")
        return self.advance()

    def expect_one_of(self, words: Collection[str], what: str) -> str:
        """Take one of these words, or say that none is there."""
        word = self.takes_one_of(words)
        if word is None:
            hint = suggestion(self.token.text, words) if self.token.kind is TokenKind.WORD else ""
            raise self.failure(f"expected {what}, found {self.token}{hint}")
        return word

    def sees_name(self) -> bool:
        """Whether a name could stand here."""
        return self.token.kind is TokenKind.QUOTED or (
            self.token.kind is TokenKind.WORD and self.token.upper not in RESERVED
        )

    def name(self, what: str) -> str:
        """Take a name."""
        token = self.token
        if token.kind not in _NAMES:
            raise self.failure(f"expected {what}, found {token}")
        if token.kind is TokenKind.WORD and token.upper in RESERVED:
            raise self.failure(
                f'expected {what}, found {token}, which is reserved: write "{token.text}" in double quotes'
            )
        self.advance()
        return token.text

    # Mistakes

    def failure(self, text: str, token: Token | None = None) -> Mistaken:
        """Note a mistake at a token (the one looked at, if none is given); to be raised."""
        self.report(text, token)
        return Mistaken()

    def report(self, text: str, token: Token | None = None) -> None:
        """Note a mistake, and go on."""
        self.mistakes.append(self.source.mistake(*(token or self.token).at, text))

    def warn(self, text: str, token: Token) -> None:
        """Note something that is right, but hardly meant."""
        self.warnings.append(self.source.mistake(*token.at, text, warning=True))

    @contextmanager
    def level(self) -> Iterator[None]:
        """One level deeper in statements or expressions."""
        if self._depth >= MOST_NESTING:
            raise self.failure(f"this is nested deeper than {MOST_NESTING} levels; move the inner part to a routine")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    # Going on after a mistake

    def at_line_start(self) -> bool:
        """Whether the token is the first of its line."""
        return self._at == 0 or self.previous().at.line < self.token.at.line

    def at_statement(self) -> bool:
        """Whether a statement or the end of a list of statements seems to begin here."""
        token = self.token
        return token.kind is TokenKind.END or (
            token.kind is TokenKind.WORD and (token.upper in STATEMENT_WORDS or token.upper in BODY_ENDS)
        )

    def statement_is_over(self) -> bool:
        """Whether no expression can begin here, because the statement ends or the next one begins."""
        if self.token.upper == ";" or self.token.kind is TokenKind.END:
            return True
        return self.at_line_start() and self.at_statement() and self.token.upper not in _ALSO_EXPRESSIONS

    def seems_misplaced(self) -> bool:
        """Whether this word, which could be a name, is more likely a keyword before which something is missing."""
        following = self.peek()
        if self.token.upper in BODY_ENDS or self.token.upper in STATEMENT_WORDS:
            named = following.kind is TokenKind.WORD or following.kind is TokenKind.QUOTED or following.upper == ";"
            return self.at_line_start() and named and self.token.upper not in _ALSO_EXPRESSIONS
        return self.token.upper in ("THEN", "DO") and following.upper in STATEMENT_WORDS | BODY_ENDS

    def skip_statement(self, start: Token) -> None:
        """Go behind the next `;`, or to the next line that begins like a statement."""
        while self.token.kind is not TokenKind.END:
            if self.takes(";"):
                return
            if self.token is not start and self.at_line_start() and self.at_statement():
                return
            self.advance()

    def skip_to(self, words: Collection[str]) -> bool:
        """Go to one of these words if it comes before the next `;`; stay if not."""
        ahead = self._at
        while ahead < self._last and self._tokens[ahead].upper != ";":
            if self._tokens[ahead].upper in words:
                self._at = ahead
                self.token = self._tokens[ahead]
                return True
            ahead += 1
        return False


# Parsing field references: `InputRoot.XML.(XML.Attribute)ns:Name[<]`.

Index = syntax.Expression | syntax.FromStart | syntax.FromEnd | syntax.Every | None
Name = str | syntax.Wildcard | syntax.Expression
MOST_STEPS = 500
"""Of a path. No tree that a message makes is as deep."""


class PathParser(Cursor, ABC):
    """Field references and the paths in them."""

    @abstractmethod
    def expression(self) -> syntax.Expression:
        """Any expression."""

    @abstractmethod
    def operand(self) -> syntax.Expression:
        """An expression without comparison, AND and OR outside of parentheses."""

    def field_reference(self, what: str) -> syntax.FieldReference:
        """A field reference, for which `what` is the name in a mistake."""
        at = self.token.at
        return self.reference_behind(self.name(what), at)

    def reference_behind(self, correlation: str, at: syntax.Position) -> syntax.FieldReference:
        """The rest of a field reference whose first name has been taken."""
        index = self._index() if self.sees("[") else None
        steps = []
        while self.takes("."):
            steps.append(self.path_step())
            if len(steps) > MOST_STEPS:
                raise self.failure(f"this path has more than {MOST_STEPS} steps; use a reference on the way")
        return syntax.FieldReference(correlation, tuple(steps), index, at=at)

    def path(self) -> tuple[syntax.PathStep, ...]:
        """A path without a correlation name, as behind AS."""
        steps = [self.path_step()]
        while self.takes("."):
            steps.append(self.path_step())
        return tuple(steps)

    def path_step(self) -> syntax.PathStep:
        """`(type)namespace:name[index]`."""
        start = self.token
        kind = self._type() if self.sees("(") else None
        namespace: Name | None = None
        name: Name | None = None
        if self.sees(":"):
            namespace = ""
        else:
            name = self._step_name(behind_type=kind is not None)
        if self.takes(":"):
            namespace = "" if namespace == "" else name
            name = self._step_name()
            if name is None:
                raise self.failure(f"expected the name of a field behind the namespace, found {self.token}")
        index = self._index() if self.sees("[") else None
        if kind is None and name is None and index is None:
            raise self.failure(f"expected the name of a field, {{expression}}, * or [index], found {self.token}")
        return syntax.PathStep(name, namespace, kind, index, at=start.at)

    def _step_name(self, *, behind_type: bool = False) -> Name | None:
        if self.takes("*"):
            return syntax.Wildcard.ANY
        if self.takes("{"):
            expression = self.expression()
            self.expect("}", "behind the expression for a name")
            return expression
        # Only a name is possible here, so reserved words are names: `Invoice.Item`. A type may stand alone.
        if self.token.kind is TokenKind.WORD and not (behind_type and self.token.upper in ("FROM", "NOT", "WHEN")):
            return self.advance().text
        return self.advance().text if self.token.kind is TokenKind.QUOTED else None

    def _type(self) -> syntax.FieldConstant | syntax.Expression:
        """`(XML.Attribute)`, `(NameValue)`, `(0x03000000)` or any expression in parentheses."""
        self.expect("(", "before the type of a field")
        start = self.token
        kind = self.type_constant(self.expression(), start)
        self.expect(")", "behind the type of a field")
        return kind

    def type_constant(self, expression: syntax.Expression, start: Token) -> syntax.FieldConstant | syntax.Expression:
        """The named type of fields that the expression is, or the expression."""
        if not isinstance(expression, syntax.FieldReference) or expression.index is not None:
            return expression
        words = [expression.correlation, *(step.name for step in expression.steps if _plain(step))]
        if len(words) != len(expression.steps) + 1 or len(words) > 2:
            return expression
        domain, name = ("", words[0]) if len(words) == 1 else (str(words[0]), words[1])
        value = field_type(domain, str(name))
        if value is not None:
            return syntax.FieldConstant(domain, str(name), value, at=start.at)
        known = names_of(domain)
        if len(words) == 2 and known:
            raise self.failure(f"{domain} has no field type {name}{suggestion(str(name), known)}", start)
        return expression

    def _index(self) -> Index:
        """`[n]`, `[<]`, `[<n]`, `[>]`, `[>n]`, `[LAST]` or `[]`."""
        start = self.expect("[", "before an index")
        if self.takes("]"):
            return syntax.Every.ONE
        index: Index
        if self.takes("<"):
            index = syntax.FromEnd(None if self.sees("]") else self.expression(), at=start.at)
        elif self.takes(">"):
            index = syntax.FromStart(None if self.sees("]") else self.expression(), at=start.at)
        elif self.token.kind is TokenKind.WORD and self.takes("LAST", "]"):
            return syntax.FromEnd(at=start.at)
        else:
            index = self.expression()
            if isinstance(index, syntax.Literal) and index.type != "INTEGER":
                raise self.failure("an index is a whole number, from 1", start)
        self.expect("]", "behind an index")
        return index


def _plain(step: syntax.PathStep) -> bool:
    return isinstance(step.name, str) and step.namespace is None and step.type is None and step.index is None
