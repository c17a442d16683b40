"""Probes: what the system under test, the generator and the machine use while a load runs, looked at every second."""
