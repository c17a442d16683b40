"""What is durable: what stands in the log, when it is written, and when it is safe to tell of it."""
