"""From an ESQL text to its syntax, by recursive descent. Several mistakes are reported at once.

Begin with `program_parsing`, which is the top of a chain of classes that build on each other.
"""
