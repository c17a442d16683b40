"""What is known of MQTT clients: sessions, their subscriptions, what waits for them and what is in flight to them."""
