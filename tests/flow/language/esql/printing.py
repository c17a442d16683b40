"""Writing syntax as ESQL again: what is printed and read must be the same. Operands stand in parentheses."""

from heliograph.flow.language.esql import syntax as s


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def many(nodes: tuple[s.Expression, ...]) -> str:
    return ", ".join(expression(node) for node in nodes)


def qualifier(node: s.Qualifier) -> str:
    return node.start + (f" TO {node.end}" if node.end else "")


def data_type(node: s.DataType) -> str:
    if node.precision is not None:
        return f"{node.name}({node.precision}" + (f", {node.scale})" if node.scale is not None else ")")
    return node.name + (f" {qualifier(node.qualifier)}" if node.qualifier else "")


def literal(node: s.Literal) -> str:
    match node.type:
        case "NULL":
            return "NULL"
        case "BOOLEAN":
            return str(node.value).upper()
        case "INTEGER" | "FLOAT":
            return repr(node.value)
        case "CHARACTER":
            return text(str(node.value))
        case "BLOB":
            assert isinstance(node.value, bytes)
            return f"X'{node.value.hex()}'"
        case "BIT":
            return f"B'{node.value}'"
    return f"{node.type} '{node.value}'" + (f" {qualifier(node.qualifier)}" if node.qualifier else "")


def index(node: object) -> str:
    match node:
        case None:
            return ""
        case s.Every.ONE:
            return "[]"
        case s.FromStart(number=number):
            return f"[>{expression(number) if number else ''}]"
        case s.FromEnd(number=number):
            return f"[<{expression(number) if number else ''}]"
    assert isinstance(node, s.Expression)
    return f"[{expression(node)}]"


def step_name(name: object) -> str:
    match name:
        case None:
            return ""
        case s.Wildcard.ANY:
            return "*"
        case str():
            return quoted(name) if name else ""
    assert isinstance(name, s.Expression)
    return "{" + expression(name) + "}"


def field_type(node: s.FieldConstant | s.Expression) -> str:
    if isinstance(node, s.FieldConstant):
        return f"{node.domain}.{node.name}" if node.domain else node.name
    return expression(node)


def step(node: s.PathStep) -> str:
    kind = f"({field_type(node.type)})" if node.type else ""
    namespace = "" if node.namespace is None else f"{step_name(node.namespace)}:"
    return kind + namespace + step_name(node.name) + index(node.index)


def reference(node: s.FieldReference) -> str:
    return ".".join((quoted(node.correlation) + index(node.index), *(step(item) for item in node.steps)))


def item(node: s.SelectItem) -> str:
    if node.target:
        return f"{expression(node.value)} AS {'.'.join(step(part) for part in node.target)}"
    return expression(node.value) + (" INSERT" if node.insert else "")


def items(nodes: tuple[s.SelectItem, ...]) -> str:
    return ", ".join(item(node) for node in nodes)


def select(node: s.Select) -> str:
    if node.kind == "ROWS":
        what = items(node.items) or "*"
    elif node.kind == "ITEM":
        what = f"ITEM {items(node.items)}"
    else:
        what = f"{node.kind}({items(node.items) or '*'})"
    sources = ", ".join(reference(f.source) + (f" AS {quoted(f.name)}" if f.name else "") for f in node.sources)
    where = f" WHERE {expression(node.where)}" if node.where else ""
    return f"(SELECT {what} FROM {sources}{where})"


def clauses(nodes: tuple[tuple[str, s.Expression], ...]) -> str:
    return "".join(f" {word} {expression(value)}" for word, value in nodes)


def call(node: s.Call) -> str:
    arguments = [expression(argument) for argument in node.arguments]
    if not node.built_in:
        return ".".join(quoted(name) for name in (*node.schema, node.name)) + f"({', '.join(arguments)})"
    match node.name:
        case "POSITION":
            inner = f"{arguments[0]} IN {arguments[1]}"
        case "OVERLAY":
            inner = f"{arguments[0]} PLACING {arguments[1]}"
        case "TRIM":
            inner = f"{node.word} {arguments[1] if len(arguments) > 1 else ''} FROM {arguments[0]}"
        case "EXTRACT":
            inner = f"{node.word} FROM {arguments[0]}"
        case "ROUND":
            inner = ", ".join(arguments) + (f" MODE {node.word}" if node.word else "")
        case _:
            inner = ", ".join(arguments)
    return f"{node.name}({inner}{clauses(node.clauses)})" if inner else node.name


def passthru(node: s.Passthru) -> str:
    database = f" TO {reference(node.database)}" if node.database else ""
    values = f" VALUES({many(node.values)})" if node.values else ""
    return f"PASSTHRU({expression(node.sql)}{database}{values})"


def expression(node: s.Expression) -> str:
    e = expression
    match node:
        case s.Literal():
            return literal(node)
        case s.FieldReference():
            return reference(node)
        case s.Unary():
            return f"({node.operator} {e(node.operand)})"
        case s.Binary():
            return f"({e(node.left)} {node.operator} {e(node.right)})"
        case s.Difference():
            return f"(({e(node.later)} - {e(node.earlier)}) {qualifier(node.qualifier)})"
        case s.Is():
            return f"({e(node.operand)} IS {'NOT ' * node.negated}{node.test})"
        case s.Between():
            word = "SYMMETRIC" if node.symmetric else "ASYMMETRIC"
            return f"({e(node.operand)} {'NOT ' * node.negated}BETWEEN {word} {e(node.low)} AND {e(node.high)})"
        case s.In():
            return f"({e(node.operand)} {'NOT ' * node.negated}IN ({many(node.choices)}))"
        case s.Like():
            escape = f" ESCAPE {e(node.escape)}" if node.escape else ""
            return f"({e(node.operand)} {'NOT ' * node.negated}LIKE {e(node.pattern)}{escape})"
        case s.Quantified():
            name = f" AS {quoted(node.name)}" if node.name else ""
            return f"FOR {node.quantifier} {reference(node.source)}{name} ({e(node.predicate)})"
        case s.Case():
            whens = "".join(f" WHEN {e(w.condition)} THEN {e(w.value)}" for w in node.branches)
            otherwise = f" ELSE {e(node.otherwise)}" if node.otherwise else ""
            return f"CASE {e(node.operand) if node.operand else ''}{whens}{otherwise} END"
        case s.Cast():
            words = (
                ("CCSID", node.ccsid),
                ("ENCODING", node.encoding),
                ("FORMAT", node.format),
                ("DEFAULT", node.default),
            )
            extra = clauses(tuple((word, value) for word, value in words if value))
            return f"CAST({many(node.sources)} AS {data_type(node.type)}{extra})"
        case s.Call():
            return call(node)
        case s.Passthru():
            return passthru(node)
        case s.Select():
            return select(node)
        case s.Row():
            return f"ROW({items(node.items)})"
        case s.ListOf():
            return "LIST{" + many(node.items) + "}"
    raise AssertionError(node)


def body(nodes: s.Body) -> str:
    return "".join(f"{statement(node)};\n" for node in nodes)


def branches(nodes: tuple[s.Branch, ...], word: str) -> str:
    return word.join(f" {expression(branch.condition)} THEN\n{body(branch.body)}" for branch in nodes)


def statement(node: s.Statement) -> str:
    e = expression
    match node:
        case s.Declaration():
            words = " SHARED" * node.shared + " EXTERNAL" * node.external + " CONSTANT" * node.constant
            initial = f" {e(node.initial)}" if node.initial else ""
            to = " TO" if node.type.name == "REFERENCE" else ""
            return f"DECLARE {', '.join(map(quoted, node.names))}{words} {data_type(node.type)}{to}{initial}"
        case s.Set():
            return f"SET {reference(node.target)} {node.aspect or ''} = {e(node.value)}"
        case s.Block():
            return f"{label(node.label)}BEGIN {'ATOMIC' * node.atomic}\n{body(node.body)}END"
        case s.If():
            otherwise = f"ELSE\n{body(node.otherwise)}" if node.otherwise else ""
            return f"IF{branches(node.branches, 'ELSEIF')}{otherwise}END IF"
        case s.CaseStatement():
            otherwise = f"ELSE\n{body(node.otherwise)}" if node.otherwise is not None else ""
            operand = e(node.operand) if node.operand else ""
            return f"CASE {operand} WHEN{branches(node.branches, 'WHEN')}{otherwise}END CASE"
        case s.While():
            return f"{label(node.label)}WHILE {e(node.condition)} DO\n{body(node.body)}END WHILE"
        case s.Repeat():
            return f"{label(node.label)}REPEAT\n{body(node.body)}UNTIL {e(node.until)} END REPEAT"
        case s.Loop():
            return f"{label(node.label)}LOOP\n{body(node.body)}END LOOP"
        case s.For():
            head = f"FOR {quoted(node.name)} AS {reference(node.source)} DO"
            return f"{label(node.label)}{head}\n{body(node.body)}END FOR"
        case s.Return():
            return f"RETURN {e(node.value) if node.value else ''}"
        case s.Throw():
            return f"THROW USER EXCEPTION{inserts(node)}"
        case s.Log():
            what = "USER TRACE" if node.trace else "EVENT"
            return f"LOG {what}{' FULL' * node.full}{' EXCEPTION' * node.exception}{inserts(node)}"
        case s.Delete():
            return f"DELETE {place(node.where)} {reference(node.target)}"
        case s.Move(target=s.FieldReference() as target):
            return f"MOVE {quoted(node.reference)} TO {reference(target)}"
        case s.PassthruStatement():
            return passthru(node.passthru)
    raise AssertionError(node)


def label(name: str | None) -> str:
    return f"{quoted(name)} : " if name else ""


def place(where: str) -> str:
    return where if where == "FIELD" else f"{where} OF"


def inserts(node: s.Throw | s.Log) -> str:
    words = (("SEVERITY", node.severity), ("CATALOG", node.catalog), ("MESSAGE", node.message))
    values = f" VALUES({many(node.values)})" if node.values else ""
    return clauses(tuple((word, value) for word, value in words if value)) + values
