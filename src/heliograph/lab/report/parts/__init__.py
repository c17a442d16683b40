"""The parts of a report, each a section made from results."""
