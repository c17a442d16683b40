"""`helio lab`: load, measurements and reports."""
