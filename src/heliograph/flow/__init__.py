"""Message flows: take a message, understand its format, route, enrich, transform, aggregate and publish it."""
