"""Sockets of clients: listening, accepting, reading and writing; TLS and WebSocket as layers; the event loop."""
