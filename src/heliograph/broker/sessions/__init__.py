"""Sessions of MQTT clients, and how they come back after a restart."""
