"""`helio bench` and `helio soak`: this server measured beside its peers."""
