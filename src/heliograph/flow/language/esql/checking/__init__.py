"""Mistakes of a program whose syntax is right: names, calls, labels, and what may be changed where.

Theory of operation. Checking walks the syntax once, top down, and never changes it. `scopes` has what is declared at
each point; a block opens a scope, and a name that is not found in any scope is looked for among the trees of a node and
the constants (`names`). A mistake is recorded and the walk goes on, so that one check reports all of them.

Begin with `program_checking`.
"""
