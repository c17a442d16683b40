"""ESQL: the language in which the nodes of a flow say what to do with a message."""
