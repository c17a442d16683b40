"""What the figures do not show, from facts that the runs have recorded."""

from collections.abc import Iterable, Sequence

from heliograph.lab.report.document import Section
from heliograph.lab.report.report_cases import ReportCase
from heliograph.lab.report.results import RecordedRun
from heliograph.lab.report.table import percent, plain

_BUSY = 0.25  # load average per core before a run, from which on the machine was not idle
_SHORT = 60.0  # seconds below which a run says nothing of hours


def limitations(cases: Sequence[ReportCase]) -> Section:
    """The limitations of the results shown, as sentences."""
    makers = (_shared, _load_before, _share, _bound, _scale, _repeats, _time, _failed, _energy)
    points = tuple(sentence for maker in makers for sentence in maker(cases))
    always = (
        "Published figures come from other hardware, years and software: they are for orientation only.",
        "Latencies were taken by the load generator, so its own time and that of the network are part of them.",
    )
    return Section("limitations", "Limitations", points=points + always)


def _shared(cases: Sequence[ReportCase]) -> Iterable[str]:
    here = [case.run for case in cases if not case.run.target.startswith("external")]
    if here:
        cores = sorted({run.cores for run in here})
        count = f"{' or '.join(map(str, cores))} {'core' if cores == [1] else 'cores'}"
        apart = all(run.machine.get("system_cores") and run.machine.get("generator_cores") for run in here)
        yield (
            f"The system under test and the load generator were on one machine with {count} and communicated over its "
            f"loopback network; {'each had cores of its own' if apart else 'they competed for its CPU'}."
        )


def load_before(run: RecordedRun) -> float | None:
    """The load average of one minute before a run began."""
    for key in ("load_before", "load", "load_average"):
        value = run.machine.get(key)
        if isinstance(value, int | float):
            return float(value)
        if isinstance(value, list) and value:
            return float(value[0])
    return None


def _load_before(cases: Sequence[ReportCase]) -> Iterable[str]:
    loads = [(load, case.run) for case in cases if (load := load_before(case.run)) is not None]
    if not loads:
        yield "The load of the machine before the runs was not recorded."
        return
    low, high = min(load for load, _ in loads), max(load for load, _ in loads)
    busy = [run for load, run in loads if load > _BUSY * run.cores]
    told = f"The load average before the runs was {_range(low, high)}"
    if not busy:
        yield f"{told}: the machine was otherwise idle."
    else:
        yield f"{told}: other processes were using the machine when {len(busy)} of {len(loads)} runs began."


def _share(cases: Sequence[ReportCase]) -> Iterable[str]:
    shares = [(share, case) for case in cases if (share := case.measures.generator_share) is not None]
    if shares:
        least, most = min(share for share, _ in shares), max(shares, key=lambda pair: pair[0])
        yield (
            f"The load generator used {percent(least)} to {percent(most[0])} of the CPU that it and the system used "
            f"together, most in {most[1].label}."
        )


def _bound(cases: Sequence[ReportCase]) -> Iterable[str]:
    bound = [case.label for case in cases if case.run.generator_bound]
    if bound:
        yield (
            f"In {len(bound)} of {len(cases)} results the load generator was the limit, so the figure is its own and "
            f"the system may do more: {', '.join(bound)}."
        )
    else:
        yield "In none of the results shown was the load generator the limit."


def _scale(cases: Sequence[ReportCase]) -> Iterable[str]:
    scales = sorted({case.run.scale for case in cases})
    if scales != [1.0]:
        told = ", ".join(plain(scale) for scale in scales)
        yield (
            f"Numbers of clients, rates and times were scaled down (scale {told}; 1 is what the published figures were "
            "measured with). Ratios were kept, but effects of large numbers of clients do not show."
        )


def _repeats(cases: Sequence[ReportCase]) -> Iterable[str]:
    single = [case for case in cases if len(case.repeats) == 1]
    if single:
        yield f"{len(single)} of {len(cases)} results come from a single run, so chance is part of them."


def _time(cases: Sequence[ReportCase]) -> Iterable[str]:
    times = [case.run.seconds for case in cases]
    if times and min(times) < _SHORT:
        yield (
            f"Runs were measured for {_range(min(times), max(times))} seconds: effects that take hours, such "
            "as growing logs, do not show."
        )


def _failed(cases: Sequence[ReportCase]) -> Iterable[str]:
    failed = [f"{case.label} ({case.run.broken})" for case in cases if case.run.broken]
    if failed:
        yield f"{len(failed)} of {len(cases)} results did not pass: {', '.join(failed)}."


def _energy(cases: Sequence[ReportCase]) -> Iterable[str]:
    if all(case.measures.costs.get("watts") is None for case in cases):
        yield "No energy could be read on this machine, so there are no figures per watt."


def _range(low: float, high: float) -> str:
    return plain(low) if plain(low) == plain(high) else f"{plain(low)} to {plain(high)}"
