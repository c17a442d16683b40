"""`helio queue`, `helio qm` and `helio mqsc`: queues and queue managers, over AMQP."""
