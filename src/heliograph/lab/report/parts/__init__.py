"""The parts of a report: each is a function from results and cases to a section."""
