"""`helio flow`: message flows, written, checked, tested and run."""
