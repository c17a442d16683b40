"""Queues: messages wait in order until a consumer takes and settles them."""
