"""The `helio` command: one module per sub-command."""
