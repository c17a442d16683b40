"""The configuration file: its tables, the rules between them, and reading it."""
