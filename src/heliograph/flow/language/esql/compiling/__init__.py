"""From the syntax of ESQL to Python, which is compiled and run.

Begin with `program_compiling`.
"""
