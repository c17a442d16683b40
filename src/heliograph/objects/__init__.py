"""Objects that are configured: their attributes, declared once, and all that is derived from the declaration."""
