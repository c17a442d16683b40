"""What happens to a message inside a flow: from messages to what shall be done outside."""
