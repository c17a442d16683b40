"""Where the time of a test run goes: seconds and processor time by folder, and the slowest tests.

Most tests wait for other processes, so the seconds of all together are more than the run took. Processor time is that
of the process that ran the test, without its children.
"""

import time
from collections import defaultdict
from collections.abc import Iterator

import pytest

SLOWEST = 10


class Timing:
    """Collects the durations of tests, and prints them at the end of the run."""

    def __init__(self) -> None:
        self._tests: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report = yield
        # A worker of xdist sends reports to the process that prints; only user_properties go along.
        if report.when == "teardown":
            report.user_properties.append(("cpu", time.process_time() - item.stash[_STARTED]))
        return report  # type: ignore[return-value]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        item.stash[_STARTED] = time.process_time()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        seconds, cpu = self._tests[report.nodeid]
        used = next((value for name, value in report.user_properties if name == "cpu"), 0.0)
        self._tests[report.nodeid] = (seconds + report.duration, cpu + float(used))  # type: ignore[arg-type]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self._tests) < 2 * SLOWEST:
            return
        write = terminalreporter.write_line
        terminalreporter.section("where the time goes")
        folders: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for name, times in self._tests.items():
            folders["/".join(name.split("::")[0].split("/")[:2])].append(times)
        write(f"{'seconds':>8} {'CPU':>7} {'tests':>6}  folder")
        for folder, tests in sorted(folders.items(), key=lambda item: -sum(seconds for seconds, _ in item[1])):
            seconds, cpu = (sum(column) for column in zip(*tests, strict=True))
            write(f"{seconds:8.1f} {cpu:7.1f} {len(tests):6}  {folder}")
        write(f"{'seconds':>8} {'CPU':>7}         slowest tests")
        for name, (seconds, cpu) in sorted(self._tests.items(), key=lambda item: -item[1][0])[:SLOWEST]:
            write(f"{seconds:8.1f} {cpu:7.1f}         {name}")


_STARTED = pytest.StashKey[float]()
