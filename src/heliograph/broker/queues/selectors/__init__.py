"""Selectors: conditions on messages in the language of JMS, compiled to Python."""
