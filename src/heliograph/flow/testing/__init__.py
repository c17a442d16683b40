"""Testing flows without a server.

From Python:

    with FlowUnderTest("flows/routing", parameters={"limit": 100}) as flow:
        flow.send("<Order><Amount>250</Amount></Order>")
        assert [message.body for message in flow.queue("BIG")] == [b"<Order><Amount>250</Amount></Order>"]

From files: every `tests/*.yaml` of a flow's folder has one case or several (`testing.case`); `run_tests` runs them.
"""

from heliograph.flow.testing.case import Case, CaseStep, read_cases
from heliograph.flow.testing.case_running import (
    CaseReport,
    CaseResult,
    prepared_flow,
    run_case,
    run_tests,
    select_cases,
)
from heliograph.flow.testing.flow_under_test import FlowUnderTest
from heliograph.flow.testing.updating import update_case

__all__ = [
    "Case",
    "CaseReport",
    "CaseResult",
    "CaseStep",
    "FlowUnderTest",
    "prepared_flow",
    "read_cases",
    "run_case",
    "run_tests",
    "select_cases",
    "update_case",
]
