"""MQTT clients under load."""
