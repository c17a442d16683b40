"""`helio log` and `helio stream`: the files of a log, and streams."""
