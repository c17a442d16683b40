"""What happens to a message: topics, subscriptions, sessions, windows, policies. No sockets, no clock of its own."""
