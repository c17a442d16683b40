"""What generated code calls: the parts of ESQL's meaning that are the same for every program."""
