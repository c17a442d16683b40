"""ESQL: the language in which the nodes of a flow say what to do with a message.

A text becomes a `Program` (`parsing`, made of the nodes in `syntax`), which is checked (`checking`) and compiled to
Python (`compiling`). The Python calls `runtime` and the functions of `flow.language.values`.
"""
