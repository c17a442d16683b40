"""Queues: messages wait here, in order, until somebody gets them."""
