"""Small mechanisms that every room may use, one to a module. They know nothing of messages."""
