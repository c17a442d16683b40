"""The protocol engine: connections, sessions and links as state that bytes go in and out of; either role."""
