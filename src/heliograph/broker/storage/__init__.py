"""Storage: what the broker writes to the log, when it is written, and when clients may be told that it is safe."""
