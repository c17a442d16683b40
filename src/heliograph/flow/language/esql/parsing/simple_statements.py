"""Statements without statements inside: assignments, declarations, calls, and what changes trees."""

from abc import abstractmethod
from collections.abc import Callable

from heliograph.flow.language.esql import syntax
from heliograph.flow.language.esql.parsing.expression_parsing import ExpressionParser
from heliograph.flow.language.esql.parsing.lexer import Token, TokenKind
from heliograph.flow.language.esql.source_text import suggestion

# Parsing statements that hold no others: variables, calls, exceptions, databases.

_ASPECTS = ("TYPE", "NAMESPACE", "NAME", "VALUE")
_CONSTANT_TYPES = ("NAME", "NAMESPACE")
_INSERT_CLAUSES = ("SEVERITY", "CATALOG", "MESSAGE")
_PROPAGATE_CLAUSES = ("TO", "ENVIRONMENT", "MESSAGE", "EXCEPTION", "FINALIZE", "DELETE")


class SimpleStatementParser(ExpressionParser):
    """Statements of one line each. The word that begins a statement has been taken when its method is called."""

    @abstractmethod
    def statement(self) -> syntax.Statement | None:
        """Any statement; None if it is wrong."""

    def simple_statements(self) -> dict[str, Callable[[Token], syntax.Statement]]:
        """The statements that are read here, by their first word."""
        return {
            "DECLARE": self.declare,
            "SET": self._set,
            "CALL": self._call_statement,
            "RETURN": self._return,
            "THROW": self._throw,
            "LOG": self._log,
            "RESIGNAL": lambda start: syntax.Resignal(at=start.at),
            "EVAL": self._eval,
            "PROPAGATE": self._propagate,
            "INSERT": self._insert,
            "UPDATE": self._update,
            "PASSTHRU": self._passthru_statement,
            "COMMIT": lambda start: syntax.Commit(self._database(), at=start.at),
            "ROLLBACK": lambda start: syntax.Rollback(self._database(), at=start.at),
        }

    # Variables

    def declare(self, start: Token) -> syntax.Statement:
        """DECLARE of variables or of a handler."""
        if self.token.upper in ("CONTINUE", "EXIT") and self.peek().upper == "HANDLER":
            return self._handler(start)
        names = [self.name("the name of a variable behind DECLARE")]
        while self.takes(","):
            names.append(self.name("the name of a variable behind ,"))
        shared = external = constant = False
        while True:
            word = self.takes_one_of(("SHARED", "EXTERNAL", "CONSTANT"))
            if word is None:
                break
            shared |= word == "SHARED"
            external |= word == "EXTERNAL"
            constant |= word == "CONSTANT"
        kind = self.declared_type()
        initial = self._initial(kind)
        return syntax.Declaration(tuple(names), kind, initial, shared, external, constant, at=start.at)

    def declared_type(self) -> syntax.DataType:
        """A type, or NAME or NAMESPACE."""
        token = self.token
        word = self.takes_one_of(_CONSTANT_TYPES)
        return syntax.DataType(word, at=token.at) if word else self.data_type()

    def _initial(self, kind: syntax.DataType) -> syntax.Expression | None:
        if kind.name == "REFERENCE":
            if not self.takes("TO"):
                raise self.failure(
                    f"expected TO behind REFERENCE, found {self.token}: a reference must point somewhere"
                )
            return self.field_reference("the field that the reference points to")
        if self.takes("="):
            self.report("an initial value stands behind the type without =", self.previous())
        if self.statement_is_over():
            return None
        return self.expression()

    def _handler(self, start: Token) -> syntax.HandlerDeclaration:
        exits = self.advance().upper == "EXIT"
        self.expect("HANDLER", "behind EXIT or CONTINUE")
        self.expect("FOR", "behind HANDLER")
        states = [self._sql_state()]
        while self.takes(","):
            states.append(self._sql_state())
        body = self.handler_body()
        return syntax.HandlerDeclaration(exits, tuple(states), body, at=start.at)

    @abstractmethod
    def handler_body(self) -> syntax.Statement:
        """The statement of a handler, without its `;`."""

    def _sql_state(self) -> syntax.SqlState:
        at = self.expect("SQLSTATE", "behind FOR: handlers are for SQLSTATE only").at
        if self.takes("LIKE"):
            text = self._string("a pattern behind LIKE")
            return syntax.SqlState(
                text, True, self._string("a character behind ESCAPE") if self.takes("ESCAPE") else None, at=at
            )
        self.takes("VALUE")
        return syntax.SqlState(self._string("a state like '23505'"), at=at)

    def _string(self, what: str) -> str:
        if self.token.kind is not TokenKind.STRING:
            raise self.failure(f"expected {what}, found {self.token}")
        return self.advance().text

    def _set(self, start: Token) -> syntax.Set:
        target = self.field_reference("a variable or field behind SET")
        aspect = self.takes_one_of(_ASPECTS)
        if self.sees(":", "="):
            self.report("SET is written with = alone", self.advance())
        self.expect("=", "behind the target of SET")
        if self.takes("="):
            self.report("ESQL writes = once, for setting and for comparing", self.previous())
        return syntax.Set(target, self.expression(), aspect, at=start.at)

    # Routines

    def _call_statement(self, start: Token) -> syntax.CallStatement:
        call = self.call("the name of a routine")
        field = self.field_reference("a schema of Database behind IN") if self.takes("IN") else None
        schema = self.expression() if self.takes("EXTERNAL", "SCHEMA") else None
        into = self.field_reference("a variable or field behind INTO") if self.takes("INTO") else None
        return syntax.CallStatement(call, field, schema, into, at=start.at)

    def _return(self, start: Token) -> syntax.Return:
        if self.statement_is_over():
            return syntax.Return(at=start.at)
        return syntax.Return(self.expression(), at=start.at)

    def _eval(self, start: Token) -> syntax.Eval:
        arguments = self.arguments("EVAL")
        if len(arguments) != 1:
            raise self.failure(f"EVAL takes one argument, found {len(arguments)}", start)
        return syntax.Eval(arguments[0], at=start.at)

    # Exceptions, the log, and other nodes

    def _throw(self, start: Token) -> syntax.Throw:
        self.takes("USER")
        self.expect("EXCEPTION", "in the THROW statement")
        clauses = dict(self.clauses(_INSERT_CLAUSES, "THROW"))
        values = self._values((*_INSERT_CLAUSES, "VALUES"))
        return syntax.Throw(
            clauses.get("SEVERITY"), clauses.get("CATALOG"), clauses.get("MESSAGE"), values, at=start.at
        )

    def _log(self, start: Token) -> syntax.Log:
        trace = self.takes("USER", "TRACE")
        if not trace:
            self.expect("EVENT", "or USER TRACE behind LOG")
        full = self.takes("FULL")
        exception = self.takes("EXCEPTION")
        if full and not exception:
            raise self.failure(f"expected EXCEPTION behind FULL, found {self.token}")
        clauses = dict(self.clauses(_INSERT_CLAUSES, "LOG"))
        values = self._values((*_INSERT_CLAUSES, "VALUES"))
        return syntax.Log(
            trace,
            exception,
            full,
            clauses.get("SEVERITY"),
            clauses.get("CATALOG"),
            clauses.get("MESSAGE"),
            values,
            at=start.at,
        )

    def _values(self, clauses: tuple[str, ...]) -> tuple[syntax.Expression, ...]:
        if self.takes("VALUES"):
            return self.arguments("VALUES")
        self.no_more_clauses(clauses)
        return ()

    def no_more_clauses(self, clauses: tuple[str, ...]) -> None:
        """Help if the word that stands here was to be one of these."""
        if self.token.kind is TokenKind.WORD and not self.at_statement():
            raise self.failure(
                f"expected ; or one of {', '.join(clauses)}, found {self.token}{suggestion(self.token.text, clauses)}"
            )

    def _propagate(self, start: Token) -> syntax.Propagate:
        terminal = label = None
        trees: dict[str, syntax.FieldReference] = {}
        modes: dict[str, bool] = {}
        while True:
            token = self.token
            word = self.takes_one_of(_PROPAGATE_CLAUSES)
            if word is None:
                break
            if word in trees or word in modes or (word == "TO" and (terminal or label)):
                raise self.failure(f"PROPAGATE has {word} twice", token)
            if word == "TO":
                if self.expect_one_of(("TERMINAL", "LABEL"), "TERMINAL or LABEL behind TO") == "TERMINAL":
                    terminal = self.expression()
                else:
                    label = self.expression()
            elif word in ("FINALIZE", "DELETE"):
                modes[word] = self.expect_one_of(("DEFAULT", "NONE"), f"DEFAULT or NONE behind {word}") == "DEFAULT"
            else:
                trees[word] = self.field_reference(f"a tree behind {word}")
        self.no_more_clauses(_PROPAGATE_CLAUSES)
        return syntax.Propagate(
            terminal,
            label,
            trees.get("ENVIRONMENT"),
            trees.get("MESSAGE"),
            trees.get("EXCEPTION"),
            modes.get("FINALIZE", True),
            modes.get("DELETE", True),
            at=start.at,
        )

    # Databases

    def _table(self, where: str) -> syntax.FieldReference:
        token = self.token
        table = self.field_reference(f"a table of Database {where}")
        if table.correlation.upper() != "DATABASE" or not table.steps:
            raise self.failure(f"expected a table like Database.ORDERS {where}", token)
        return table

    def _database(self) -> syntax.FieldReference | None:
        return self.field_reference("Database.source") if self.sees_name() and not self.at_statement() else None

    def _insert(self, start: Token) -> syntax.Insert:
        self.expect("INTO", "behind INSERT")
        table = self._table("behind INSERT INTO")
        columns = []
        if self.takes("("):
            columns.append(self.name("the name of a column"))
            while self.takes(","):
                columns.append(self.name("the name of a column"))
            self.expect(")", "behind the columns of INSERT")
        self.expect("VALUES", "in the INSERT statement")
        values = self.arguments("VALUES")
        if columns and len(columns) != len(values):
            self.report(f"INSERT names {len(columns)} columns, but has {len(values)} values", start)
        return syntax.Insert(table, tuple(columns), values, at=start.at)

    def _update(self, start: Token) -> syntax.Update:
        table = self._table("behind UPDATE")
        name = self.name("a name behind AS") if self.takes("AS") else None
        self.expect("SET", "in the UPDATE statement")
        assignments = [self._assignment()]
        while self.takes(","):
            assignments.append(self._assignment())
        where = self.expression() if self.takes("WHERE") else None
        return syntax.Update(table, tuple(assignments), name, where, at=start.at)

    def _assignment(self) -> syntax.Assignment:
        at = self.token.at
        column = self.name("the name of a column")
        self.expect("=", "behind the name of a column")
        return syntax.Assignment(column, self.expression(), at=at)

    def delete_rows(self, start: Token) -> syntax.DeleteRows:
        """`DELETE FROM`, of which both words have been taken."""
        table = self._table("behind DELETE FROM")
        name = self.name("a name behind AS") if self.takes("AS") else None
        where = self.expression() if self.takes("WHERE") else None
        return syntax.DeleteRows(table, name, where, at=start.at)

    def _passthru_statement(self, start: Token) -> syntax.PassthruStatement:
        # With parentheses around everything, or only around the text, or around nothing.
        if self.takes("("):
            passthru = self.passthru_behind(start)
            if passthru.database is None and not passthru.values:
                passthru = self.passthru_clauses(passthru.sql, start)
            return syntax.PassthruStatement(passthru, at=start.at)
        return syntax.PassthruStatement(self.passthru_clauses(self.expression(), start), at=start.at)


# Parsing statements that change the message tree: CREATE, DELETE, ATTACH, DETACH, MOVE.

_CHILDREN = ("FIRSTCHILD", "LASTCHILD")
_SIBLINGS = ("PREVIOUSSIBLING", "NEXTSIBLING")
_PLACES = (*_CHILDREN, *_SIBLINGS)
_CREATE_CLAUSES = ("AS", "DOMAIN", "REPEAT", "IDENTITY", "TYPE", "NAMESPACE", "NAME", "VALUE", "FROM", "PARSE")
_MOVE_CLAUSES = ("TYPE", "NAMESPACE", "NAME", "IDENTITY", "REPEAT")


class TreeStatementParser(SimpleStatementParser):
    """Statements on fields and references. The word that begins a statement has been taken."""

    def simple_statements(self) -> dict[str, Callable[[Token], syntax.Statement]]:
        """The statements that are read here, by their first word."""
        return super().simple_statements() | {
            "CREATE": self._create,
            "DELETE": self._delete,
            "ATTACH": self._attach,
            "DETACH": lambda start: syntax.Detach(self._reference("DETACH"), at=start.at),
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

    def _create(self, start: Token) -> syntax.Create:
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
        return syntax.Create(
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

    def _parse(self) -> syntax.Parse:
        at = self.expect("(", "behind PARSE").at
        source = self.expression()
        clauses = self.bitstream_clauses("PARSE")
        if not self.sees(")"):
            words = ("OPTIONS", "ENCODING", "CCSID", "SET", "TYPE", "FORMAT")
            hint = suggestion(self.token.text, words) if self.token.kind is TokenKind.WORD else ""
            raise self.failure(f"expected ) at the end of PARSE(..., found {self.token}{hint}")
        self.advance()
        return syntax.Parse(source, clauses, at=at)

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

    def _delete(self, start: Token) -> syntax.Statement:
        if self.takes("FROM"):
            return self.delete_rows(start)
        where = self._place("DELETE")
        return syntax.Delete(where, self.field_reference("the field to be deleted"), at=start.at)

    def _attach(self, start: Token) -> syntax.Attach:
        reference = self._reference("ATTACH")
        self.expect("TO", "in the ATTACH statement")
        target = self.field_reference("the field to attach to")
        self.expect("AS", "in the ATTACH statement")
        where = self.expect_one_of(_PLACES, "FIRSTCHILD, LASTCHILD, PREVIOUSSIBLING or NEXTSIBLING behind AS")
        return syntax.Attach(reference, target, where, at=start.at)

    def _move(self, start: Token) -> syntax.Move:
        reference = self._reference("MOVE")
        if self.takes("TO"):
            return syntax.Move(reference, self.field_reference("the field to move to"), at=start.at)
        where = self.expect_one_of(("PARENT", *_PLACES), "TO, PARENT, FIRSTCHILD, NEXTSIBLING or the like in MOVE")
        if where == "PARENT":
            return syntax.Move(reference, where=where, at=start.at)
        if self.takes("IDENTITY"):
            return syntax.Move(reference, where=where, identity=self.path_step(), at=start.at)
        if self.sees("REPEAT"):
            return self._move_repeat(reference, where, start)
        kind: syntax.FieldConstant | syntax.Expression | None = None
        namespace: syntax.Wildcard | syntax.Expression | None = None
        if self.takes("TYPE"):
            token = self.token
            kind = self.type_constant(self.expression(), token)
        if self.takes("NAMESPACE"):
            namespace = syntax.Wildcard.ANY if self.takes("*") else self.expression()
        name = self.expression() if self.takes("NAME") else None
        self.no_more_clauses(_MOVE_CLAUSES)
        return syntax.Move(reference, None, where, None, kind, namespace, name, at=start.at)

    def _move_repeat(self, reference: str, where: str, start: Token) -> syntax.Move:
        token = self.advance()
        if where not in _SIBLINGS:
            raise self.failure("REPEAT goes with PREVIOUSSIBLING and NEXTSIBLING only", token)
        same_type = self.takes("TYPE")
        same_name = self.takes("NAME")
        if not same_type and not same_name:
            raise self.failure(f"expected TYPE or NAME behind REPEAT, found {self.token}")
        return syntax.Move(reference, where=where, repeat_type=same_type, repeat_name=same_name, at=start.at)


class _Clauses:
    """What has been read of a CREATE so far."""

    reference: str | None = None
    domain: syntax.Expression | None = None
    identity: syntax.PathStep | None = None
    type: syntax.FieldConstant | syntax.Expression | None = None
    namespace: syntax.Expression | None = None
    name: syntax.Expression | None = None
    value: syntax.Expression | None = None
    source: syntax.FieldReference | None = None
    parse: syntax.Parse | None = None
