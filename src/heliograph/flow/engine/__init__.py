"""What happens to a message inside a flow: a compiled flow is a function from messages to what shall be done outside."""
