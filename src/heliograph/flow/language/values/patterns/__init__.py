"""FORMAT patterns: datetimes and numbers as text, both ways."""
