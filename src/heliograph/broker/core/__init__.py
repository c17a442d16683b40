"""What all of the broker stands on: routes, streams, the turn, the store, memory, timers."""
