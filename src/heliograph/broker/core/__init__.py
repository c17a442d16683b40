"""What all of the broker stands on, and what knows nothing of the rest: limits, memory, spans, topics, timers."""
