"""Run the test cases of a flow, without any server.

Each case sends messages through the flow and compares all results: messages on queues and topics, files, replies,
database rows and errors. Each case has its own, empty databases. The exit status is 1 if a case fails.
"""

import argparse
import sys
from pathlib import Path
from xml.etree import ElementTree

from heliograph.cli.flow.options import explained
from heliograph.cli.shared.output import coloured_difference, wants_colour
from heliograph.common.terminal import steer, visible
from heliograph.flow.errors import DefinitionProblem
from heliograph.flow.testing import CaseReport, CaseResult, run_case, select_cases, update_case

EXAMPLES = """\
  helio flow test orders
  helio flow test orders big express        only cases whose name contains one of these
  helio flow test orders --update           accept the present results as the expected ones
  helio flow test orders --junit report.xml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio flow test`."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of the flow")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="run only cases whose name contains this text")
    parser.add_argument(
        "--update", action="store_true", help="write the actual results into the cases that fail, as the expected ones"
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a report for build servers, too")


def run(args: argparse.Namespace) -> int:
    """Run them one by one, and tell as they end."""
    try:
        report = _run(args.folder, args.cases, update=args.update)
    except DefinitionProblem as problem:
        raise explained(args.folder, problem) from problem
    print(report.summary())
    if args.junit is not None:
        args.junit.write_bytes(_junit(args.folder.name, report))
    return 0 if report.passed else 1


def _run(folder: Path, names: list[str], *, update: bool) -> CaseReport:
    report = CaseReport()
    for case in select_cases(folder, names):
        result = run_case(folder, case)
        if update and not result.passed:
            for file in update_case(folder, case):
                print(f"{file} written")
            (case,) = (again for again in select_cases(folder, [case.name]) if again.name == case.name)
            result = run_case(folder, case)
        report.results.append(result)
        _tell(result.text())
    return report


def _tell(text: str) -> None:
    if wants_colour(sys.stdout):
        steer(sys.stdout, coloured_difference(visible(text)) + "\n")
    else:
        print(text, flush=True)


def _junit(flow: str, report: CaseReport) -> bytes:
    failures = sum(not result.passed for result in report.results)
    suite = ElementTree.Element("testsuite", name=flow, tests=str(len(report.results)), failures=str(failures))
    for result in report.results:
        _junit_case(suite, flow, result)
    report_bytes: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return report_bytes


def _junit_case(suite: ElementTree.Element, flow: str, result: CaseResult) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=flow, name=result.name, time=f"{result.seconds:.3f}")
    if not result.passed:
        failure = ElementTree.SubElement(case, "failure", message=result.differences[0].splitlines()[0])
        failure.text = "\n".join(result.differences)
