"""Flow files: what a flow consists of, read from its folder and checked before anything runs."""
