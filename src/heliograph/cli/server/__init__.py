"""`helio serve`, `helio config` and `helio passwd`: a server of one's own."""
