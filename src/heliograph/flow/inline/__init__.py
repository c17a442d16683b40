"""Runs flows: messages come from queues, topics, files and requests, and go where the flow says."""
