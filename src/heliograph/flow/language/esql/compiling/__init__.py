"""The ESQL compiler: turns checked syntax trees into Python source, which Python compiles and runs.

Theory of operation. `program_compiling` writes one Python source text (a `Unit`) for a program and the programs it
uses: one function for each routine, and one that runs each module. The table `GENERATORS` there maps each class of
syntax node to the function that generates its code. Every generator takes a `Context` (`context.py`) and a node:

- the generator of an expression returns `Code`: a Python expression, its static type, and its shape (a value, a field,
  a list);
- the generator of a statement writes lines with `Context.emit`. An expression may write lines before its statement
  (`Context.hoisting` is false where that is not allowed, because the expression may never be evaluated).

  For example, this ESQL (line numbers at the left):

      4  DECLARE total DECIMAL 0;
      5  FOR line AS InputRoot.XMLNSC.Order.Line[] DO
      6    SET total = total + line.Price;
      7  END FOR;
      8  SET OutputRoot.XMLNSC.Invoice.Id = InputRoot.XMLNSC.Order.Id;
      9  IF total > 100 THEN
      10   SET OutputRoot.XMLNSC.Invoice.Total = total;
      11 END IF;
      12 RETURN TRUE;

  becomes this Python (comments with the source lines are generated, too):

      def _Invoice_Main(ev, own):
          InputRoot = ev.input_root
          OutputRoot = ev.output_root
          total_2 = convert(0, _DECIMAL)
          Order = find(InputRoot, 'XMLNSC', 'Order') or ABSENT
          line = Reference(ABSENT)
          for line.element in Order.all('Line'):
              total_2 = convert(add(total_2, line.element.value_of('Price')), _DECIMAL)
          Invoice = ensure(OutputRoot, 'XMLNSC', 'Invoice')
          copy_field(Invoice, 'Id', Order.content('Id'))
          if greater(total_2, 100):
              set_field(Invoice, 'Total', total_2)
          return True

Invariants:

- The program has been parsed and checked. Compiling fails only for what Python cannot take (`CompilationError`).
- An ESQL name is never used as a Python name directly: `python_names.Names` allocates a free name for each variable.
  Generated code can call only what the table `python_names.MODULE_OF` lists. So ESQL text cannot reach other functions.
- Code that is the same for all programs is in `runtime` or `flow.language.values`; only what depends on the program is
  generated. NULL is None.
- Each function reads the trees of the evaluation (`ev`) into local variables once (`Frame.roots`). The element at the
  end of a path also stays in a local variable (`python_names.Prefixes`), like `Order` and `Invoice` above, until a
  statement may change what the path finds. A statement generator must invalidate every path that it may change. A
  generator that forgets one produces wrong results, not errors.
- Each statement records the Python line where it begins (`Unit.places`), so that a traceback can be mapped to ESQL
  (`runtime.compiled_program`).

The modules depend on each other in this order: `python_names`, `context`, `path_compiling`, `expression_compiling`,
`assignments`, `sql`, `routines`, `function_compiling`, `selects`, `statement_compiling`, `program_compiling`. A
generator reaches nested expressions through `Context`, which uses the table. So no module imports a later one.
"""
