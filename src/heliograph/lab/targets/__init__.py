"""Systems under test: how each is started, configured, asked for its statistics, and stopped."""
