"""The base of the broker, which knows nothing of its other parts: limits, memory, spans, topics, timers, slices."""
