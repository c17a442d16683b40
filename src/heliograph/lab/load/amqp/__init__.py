"""AMQP clients under load."""
