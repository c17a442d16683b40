"""The broker's AMQP side: connections, and links that lead to and from queues and topics."""
