"""Queues: messages that wait until somebody gets them, in order, once each."""
