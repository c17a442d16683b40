"""How messages get to MQTT subscriptions: from memory or from the log, and what is in flight to a client."""
