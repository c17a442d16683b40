"""Load generators and benchmarks that drive any MQTT broker over the wire."""
