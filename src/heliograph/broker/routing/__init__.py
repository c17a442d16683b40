"""Who gets the messages of a topic."""
