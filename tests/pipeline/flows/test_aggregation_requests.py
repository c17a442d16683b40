"""Names of queues and topics of an aggregation."""

import pytest

from heliograph.pipeline.flows.aggregation_requests import deadline_queue

LONGEST = 48
"""Letters in the name of a queue."""


@pytest.mark.parametrize("name", ["QUOTES", "Quotes_1.all", "A" * 21])
def test_a_name_that_fits_is_in_the_name_of_the_queue(name: str) -> None:
    assert deadline_queue(name) == f"FLOW.AGGREGATION.{name}.DEADLINES"


def test_long_names_fit_and_differ() -> None:
    queues = {deadline_queue("quotes-of-all-our-suppliers-" + end) for end in ("east", "west")}
    assert len(queues) == 2
    assert all(len(queue) <= LONGEST for queue in queues)
    assert all(queue.startswith("FLOW.AGGREGATION.quotes_of_al-") for queue in queues)


def test_names_that_differ_in_what_a_queue_name_cannot_have_differ() -> None:
    assert len({deadline_queue(name) for name in ("A B", "A_B", "A-B", "A/B")}) == 4
