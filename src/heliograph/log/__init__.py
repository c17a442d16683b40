"""The one log: everything durable is appended to it once, and read back from it by position. Stands alone."""
