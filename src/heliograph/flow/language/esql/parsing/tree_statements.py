"""Parsing statements that change the message tree: CREATE, DELETE, ATTACH, DETACH, MOVE."""

from collections.abc import Callable

from heliograph.flow.language.esql.parsing.lexer import Kind, Token
from heliograph.flow.language.esql.parsing.simple_statements import SimpleStatementParser
from heliograph.flow.language.esql.suggestions import suggestion
from heliograph.flow.language.esql.syntax import (
    Attach,
    Create,
    Delete,
    Detach,
    Expression,
    FieldConstant,
    FieldReference,
    Move,
    Parse,
    PathStep,
    Statement,
    Wildcard,
)

_CHILDREN = ("FIRSTCHILD", "LASTCHILD")
_SIBLINGS = ("PREVIOUSSIBLING", "NEXTSIBLING")
_PLACES = (*_CHILDREN, *_SIBLINGS)
_CREATE_CLAUSES = ("AS", "DOMAIN", "REPEAT", "IDENTITY", "TYPE", "NAMESPACE", "NAME", "VALUE", "FROM", "PARSE")
_MOVE_CLAUSES = ("TYPE", "NAMESPACE", "NAME", "IDENTITY", "REPEAT")


class TreeStatementParser(SimpleStatementParser):
    """Statements on fields and references. The word that begins a statement has been taken."""

    def simple_statements(self) -> dict[str, Callable[[Token], Statement]]:
        """The statements that are read here, by their first word."""
        return super().simple_statements() | {
            "CREATE": self._create,
            "DELETE": self._delete,
            "ATTACH": self._attach,
            "DETACH": lambda start: Detach(self._reference("DETACH"), at=start.at),
            "MOVE": self._move,
        }

    def _reference(self, statement: str) -> str:
        return self.name(f"the name of a reference behind {statement}")

    def _place(self, statement: str) -> str:
        """`FIELD` or `FIRSTCHILD OF` and its like."""
        places = ("FIELD", *_PLACES)
        where = self.expect_one_of(places, f"FIELD, FIRSTCHILD OF or the like behind {statement}")
        if where != "FIELD":
            self.takes("OF")
        return where

    def _create(self, start: Token) -> Create:
        where = self._place("CREATE")
        target = self.field_reference("the field to be created")
        found: dict[str, Token] = {}
        create = _Clauses()
        while True:
            token = self.token
            word = self.takes_one_of(_CREATE_CLAUSES)
            if word is None:
                break
            if word in found:
                raise self.failure(f"CREATE has {word} twice", token)
            found[word] = token
            self._create_clause(word, create)
        self.no_more_clauses(_CREATE_CLAUSES)
        self._check_create(where, found)
        return Create(
            where,
            target,
            create.reference,
            create.domain,
            "REPEAT" in found,
            create.identity,
            create.type,
            create.namespace,
            create.name,
            create.value,
            create.source,
            create.parse,
            at=start.at,
        )

    def _create_clause(self, word: str, create: "_Clauses") -> None:
        match word:
            case "AS":
                create.reference = self._reference("AS")
            case "DOMAIN":
                create.domain = self.expression()
            case "IDENTITY":
                create.identity = self.path_step()
            case "TYPE":
                token = self.token
                create.type = self.type_constant(self.expression(), token)
            case "NAMESPACE":
                create.namespace = self.expression()
            case "NAME":
                create.name = self.expression()
            case "VALUE":
                create.value = self.expression()
            case "FROM":
                create.source = self.field_reference("the field to be copied behind FROM")
            case "PARSE":
                create.parse = self._parse()

    def _parse(self) -> Parse:
        at = self.expect("(", "behind PARSE").at
        source = self.expression()
        clauses = self.bitstream_clauses("PARSE")
        if not self.sees(")"):
            words = ("OPTIONS", "ENCODING", "CCSID", "SET", "TYPE", "FORMAT")
            hint = suggestion(self.token.text, words) if self.token.kind is Kind.WORD else ""
            raise self.failure(f"expected ) at the end of PARSE(..., found {self.token}{hint}")
        self.advance()
        return Parse(source, clauses, at=at)

    def _check_create(self, where: str, found: dict[str, Token]) -> None:
        """Clauses that do not go with the place or with each other."""
        for word in ("DOMAIN", "PARSE"):
            if where == "FIELD" and word in found:
                self.report(f"CREATE FIELD has no {word}; use CREATE FIRSTCHILD OF or LASTCHILD OF", found[word])
        if where not in _SIBLINGS and "REPEAT" in found:
            self.report("REPEAT goes with PREVIOUSSIBLING and NEXTSIBLING only", found["REPEAT"])
        named = [word for word in ("IDENTITY", "TYPE", "NAMESPACE", "NAME") if word in found]
        if "IDENTITY" in found and len(named) > 1:
            self.report(f"IDENTITY and {named[1]} say the same twice", found[named[1]])
        sources = [word for word in ("REPEAT", "FROM", "PARSE") if word in found]
        if len(sources) > 1:
            self.report(f"{sources[0]} and {sources[1]} do not go together", found[sources[1]])
        elif sources and sources[0] != "PARSE" and named:
            self.report(f"{sources[0]} and {named[0]} do not go together", found[named[0]])
        if "VALUE" in found and ("FROM" in found or "PARSE" in found):
            self.report("the value comes from FROM or PARSE already", found["VALUE"])

    def _delete(self, start: Token) -> Statement:
        if self.takes("FROM"):
            return self.delete_rows(start)
        where = self._place("DELETE")
        return Delete(where, self.field_reference("the field to be deleted"), at=start.at)

    def _attach(self, start: Token) -> Attach:
        reference = self._reference("ATTACH")
        self.expect("TO", "in the ATTACH statement")
        target = self.field_reference("the field to attach to")
        self.expect("AS", "in the ATTACH statement")
        where = self.expect_one_of(_PLACES, "FIRSTCHILD, LASTCHILD, PREVIOUSSIBLING or NEXTSIBLING behind AS")
        return Attach(reference, target, where, at=start.at)

    def _move(self, start: Token) -> Move:
        reference = self._reference("MOVE")
        if self.takes("TO"):
            return Move(reference, self.field_reference("the field to move to"), at=start.at)
        where = self.expect_one_of(("PARENT", *_PLACES), "TO, PARENT, FIRSTCHILD, NEXTSIBLING or the like in MOVE")
        if where == "PARENT":
            return Move(reference, where=where, at=start.at)
        if self.takes("IDENTITY"):
            return Move(reference, where=where, identity=self.path_step(), at=start.at)
        if self.sees("REPEAT"):
            return self._move_repeat(reference, where, start)
        kind: FieldConstant | Expression | None = None
        namespace: Wildcard | Expression | None = None
        if self.takes("TYPE"):
            token = self.token
            kind = self.type_constant(self.expression(), token)
        if self.takes("NAMESPACE"):
            namespace = Wildcard.ANY if self.takes("*") else self.expression()
        name = self.expression() if self.takes("NAME") else None
        self.no_more_clauses(_MOVE_CLAUSES)
        return Move(reference, None, where, None, kind, namespace, name, at=start.at)

    def _move_repeat(self, reference: str, where: str, start: Token) -> Move:
        token = self.advance()
        if where not in _SIBLINGS:
            raise self.failure("REPEAT goes with PREVIOUSSIBLING and NEXTSIBLING only", token)
        same_type = self.takes("TYPE")
        same_name = self.takes("NAME")
        if not same_type and not same_name:
            raise self.failure(f"expected TYPE or NAME behind REPEAT, found {self.token}")
        return Move(reference, where=where, repeat_type=same_type, repeat_name=same_name, at=start.at)


class _Clauses:
    """What has been read of a CREATE so far."""

    reference: str | None = None
    domain: Expression | None = None
    identity: PathStep | None = None
    type: FieldConstant | Expression | None = None
    namespace: Expression | None = None
    name: Expression | None = None
    value: Expression | None = None
    source: FieldReference | None = None
    parse: Parse | None = None
