"""From the syntax of ESQL to Python, which is compiled and run.

Theory of operation. `program_compiling` writes one text of Python (a `Unit`) for a program and those it uses: a
function for each routine, and one that runs each module. A table there (`GENERATORS`) has, for each class of
syntax node, the function that writes it. All of them take a `Context` (`context.py`) and a node:

- an expression gives `Code`: Python text, with what is known of its type and its shape (a value, a field, a list);
- a statement writes lines through `Context.emit`. An expression may write lines before the statement that it is in
  (`Context.hoisting` says where that is not allowed, because the expression may never be evaluated).

What the text may rely on:

- The program has been parsed and checked. Compiling fails only for what Python cannot take (`CompilationError`).
- ESQL's names never become Python's: `python_names.Names` gives each variable a name that is free, and everything that
  generated code calls is in one table (`python_names.MODULE_OF`). So no text of a user can reach another function.
- Everything that is the same for all programs is a function in `runtime` or `flow.language.values`; generated code has
  only what depends on the program. NULL is None.
- The trees of the evaluation (`ev`) are read into local variables once in each function (`Frame.roots`). Elements that
  a path has led to are kept in local variables, too (`python_names.Prefixes`), until a statement may have changed where
  the path leads. A statement generator must forget what it may have changed; that is the one rule whose breach gives
  wrong results instead of errors.
- Each statement notes the line of Python where it begins (`Unit.places`), so that a traceback becomes a place in ESQL
  (`runtime.compiled_program`).

The modules build on each other in this order: `python_names`, `context`, `path_compiling`, `expression_compiling`,
`assignments`, `sql`, `routines`, `function_compiling`, `selects`, `statement_compiling`, `program_compiling`. Where an
expression contains any other expression, it goes through `Context`, which looks into the table: so a module never
imports one that stands above it.
"""
