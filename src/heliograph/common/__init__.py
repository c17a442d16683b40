"""Small utilities that every package may use, one per module. They do not depend on messaging."""
