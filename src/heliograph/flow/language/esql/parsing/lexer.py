"""The ESQL lexer.

Keywords are ordinary words here: nearly all of them are valid names, too, and only the parser knows what it expects.
"""

import re
from bisect import bisect_right
from enum import Enum, auto

from heliograph.flow.errors import EsqlMistake
from heliograph.flow.language.esql.source_text import Source
from heliograph.flow.language.esql.syntax import Position


class TokenKind(Enum):
    """What a token is."""

    WORD = auto()
    """A keyword or a name."""
    QUOTED = auto()
    """A name in double quotes; never a keyword."""
    STRING = auto()
    BLOB = auto()
    BIT = auto()
    INTEGER = auto()
    HEX = auto()
    FLOAT = auto()
    SYMBOL = auto()
    END = auto()
    """Behind the last token."""


class Token:
    """One word, literal or symbol."""

    __slots__ = ("at", "kind", "text", "upper")

    def __init__(self, kind: TokenKind, text: str, upper: str, at: Position) -> None:
        self.kind = kind
        self.text = text
        """Without quotes."""
        self.upper = upper
        """A word in upper case, or a symbol: what keywords are compared with. Empty for everything else."""
        self.at = at

    def __str__(self) -> str:
        """As a person would name it in a sentence."""
        match self.kind:
            case TokenKind.END:
                return "the end of the text"
            case TokenKind.QUOTED:
                return f'"{self.text}"'
            case TokenKind.STRING:
                return f"'{self.text}'"
            case TokenKind.BLOB:
                return f"X'{self.text}'"
            case TokenKind.BIT:
                return f"B'{self.text}'"
        return self.text


_SPACE = re.compile(r"[ \t\r\n\f\v\xa0\ufeff]*")
# The most frequent alternatives come first: words, and symbols that are not the beginning of a longer token.
_TOKEN = re.compile(
    _SPACE.pattern
    + r"""(?:
      (?P<word>(?![xXbB]')[^\W\d]\w*)
    | (?P<symbol><>|<=|>=|\|\||[+*=<>()\[\]{,;:]|-(?!-)|/(?!\*)|\}(?!!\*/)|\.(?![0-9]))
    | (?P<note>--[^\n]*)
    | (?P<string>'[^']*(?:''[^']*)*')
    | (?P<hex>0[xX][0-9a-fA-F]+)
    | (?P<float>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|(?<![\w"\]}])\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    | (?P<integer>[0-9]+)
    | (?P<quoted>"[^"]*(?:""[^"]*)*")
    | (?P<comment>/\*|\}!\*/)
    | (?P<blob>[xX]'[^']*')
    | (?P<bit>[bB]'[^']*')
    | (?P<dot>\.)
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_NUMBER_TAIL = re.compile(r"\w+")
_HEX_DIGITS = re.compile(r"(?:[0-9a-fA-F]{2})*")
_BINARY_DIGITS = re.compile(r"[01]*")
_EXECUTABLE = "/*!{"

_ADVICE = {
    "!": "ESQL writes <> for not equal, and NOT for not",
    "|": "ESQL writes || to join strings, and OR for or",
    "&": "ESQL writes AND for and",
    "#": "comments stand behind --, or between /* and */",
    "'": "this string has no end: a ' is missing",
    '"': 'this name has no end: a " is missing',
    "\u2018": "strings stand in straight quotes: '",
    "\u2019": "strings stand in straight quotes: '",
    "\u201c": 'names stand in straight quotes: "',
    "\u201d": 'names stand in straight quotes: "',
}


class Lexer:
    """Reads all tokens of a text, and goes on after mistakes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = source.text
        self._starts = [0]
        for line in source.lines[:-1]:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.tokens: list[Token] = []
        self.mistakes: list[EsqlMistake] = []

    def position(self, offset: int) -> Position:
        """The line and column of an offset."""
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def read(self) -> list[Token]:
        """All tokens, with one of kind END behind them."""
        text, tokens, match_at = self._text, self.tokens, _TOKEN.match
        line_starts = [*self._starts, len(text) + 1]
        at, open_executable, line = 0, 0, 1
        while True:
            match = match_at(text, at)
            if match is None:
                at = self._unknown(_SPACE.match(text, at).end())  # type: ignore[union-attr]
                continue
            group = str(match.lastgroup)
            start, at = match.span(group)
            while line_starts[line] <= start:
                line += 1
            if group == "word":
                word = text[start:at]
                tokens.append(
                    Token(TokenKind.WORD, word, word.upper(), Position(line, start - line_starts[line - 1] + 1))
                )
            elif group in ("symbol", "dot"):
                word = text[start:at]
                tokens.append(Token(TokenKind.SYMBOL, word, word, Position(line, start - line_starts[line - 1] + 1)))
            elif group == "end":
                tokens.append(Token(TokenKind.END, "", "", self.position(len(text))))
                return tokens
            elif group == "comment":
                at, open_executable = self._comment(start, open_executable)
            elif group != "note":
                at = self._literal(group, text[start:at], start, at)

    def _literal(self, group: str, word: str, start: int, at: int) -> int:
        """Add a literal, and return where to read on."""
        kind = TokenKind[group.upper()]
        if kind in (TokenKind.STRING, TokenKind.QUOTED):
            quote = word[0]
            word = word[1:-1].replace(quote + quote, quote)
        elif kind in (TokenKind.BLOB, TokenKind.BIT):
            word = self._digits(kind, word[2:-1], start)
        else:
            tail = _NUMBER_TAIL.match(self._text, at)
            if tail is not None:
                self._report(start, f"{word}{tail.group()} is neither a number nor a name: names begin with a letter")
                at = tail.end()
        self.tokens.append(Token(kind, word, "", self.position(start)))
        return at

    def _digits(self, kind: TokenKind, digits: str, start: int) -> str:
        if kind is TokenKind.BLOB and not _HEX_DIGITS.fullmatch(digits):
            self._report(start, f"X'...' holds an even number of hexadecimal digits, found '{digits}'")
            return ""
        if kind is TokenKind.BIT and not _BINARY_DIGITS.fullmatch(digits):
            self._report(start, f"B'...' holds 0 and 1 only, found '{digits}'")
            return ""
        return digits

    def _comment(self, start: int, open_executable: int) -> tuple[int, int]:
        """Skip a comment, which may hold others; of an executable one only the marks are skipped."""
        if self._text.startswith("}!*/", start):
            if open_executable:
                return start + 4, open_executable - 1
            self._report(start, "}!*/ ends an executable comment, but none has begun: /*!{ is missing")
            return start + 4, 0
        if self._text.startswith(_EXECUTABLE, start):
            return start + len(_EXECUTABLE), open_executable + 1
        depth = 0
        for edge in _COMMENT_EDGE.finditer(self._text, start):
            depth += 1 if edge.group() == "/*" else -1
            if depth == 0:
                return edge.end(), open_executable
        self._report(start, "this comment has no end: */ is missing (comments nest: each /* needs its own)")
        return len(self._text), open_executable

    def _unknown(self, at: int) -> int:
        """Report something that begins no token, and return where to read on."""
        character = self._text[at]
        self._report(at, _ADVICE.get(character, f"{character!r} has no meaning here"))
        if character in "'\"":
            # Skip the rest of the line: it is most likely the intended content of the quotes.
            end = self._text.find("\n", at)
            end = len(self._text) if end < 0 else end
            kind = TokenKind.STRING if character == "'" else TokenKind.QUOTED
            stop = at + 1 + len(self._text[at + 1 : end].rstrip("\r ;"))
            self.tokens.append(Token(kind, self._text[at + 1 : stop], "", self.position(at)))
            return stop
        if self._text.startswith("&&", at):
            self.tokens.append(Token(TokenKind.WORD, "AND", "AND", self.position(at)))
            return at + 2
        if character == "#":
            end = self._text.find("\n", at)
            return len(self._text) if end < 0 else end
        if self._text.startswith("!=", at):
            self.tokens.append(Token(TokenKind.SYMBOL, "<>", "<>", self.position(at)))
            return at + 2
        return at + 1

    def _report(self, offset: int, text: str) -> None:
        self.mistakes.append(self._source.mistake(*self.position(offset), text))
