"""The report of `helio bench`: rows of the table, goals that were met or missed, and JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median_low

from heliograph.lab.bench.bench_rounds import BenchRow
from heliograph.lab.targets.heliograph_server import Heliograph, HeliographMemory
from heliograph.lab.targets.mosquitto import Mosquitto
from heliograph.lab.targets.rabbitmq import RabbitMQ
from heliograph.lab.text_table import TextTable, figure, noise, times

OURS = Heliograph.name
MEMORY_ONLY = HeliographMemory.name  # ours without waiting for the disk
REFERENCE_TARGETS = {"mqtt": Mosquitto.name, "amqp": RabbitMQ.name}  # whom the goals are measured against

TABLE = TextTable(
    (
        ("case", 24),
        ("broker", 17),
        ("in/s", 8),
        ("out/s", 8),
        ("CPU µs", 8),
        ("ratio", 7),
        ("lost", 6),
        ("dup", 5),
        ("gen", 5),
        ("", 0),
    ),
    texts=2,
)
LEGEND = (
    "CPU µs: of the broker per delivery (per connect for idle connections), the median round. ratio: that CPU over "
    f"{OURS}'s. lost, dup: of all rounds. gen: how busy the generator's core was."
)
QUEUE_LEGEND = (
    "Queue cases: CPU µs is per round trip (request: two puts and two gets), per delivery (topic), else per message "
    "put and got. Nothing is sent settled: brokers accept every put, consumers accept every get. -p: persistent. "
    f"-10qm: ten queue managers, which are ten processes of {OURS} and ten virtual hosts in one node of "
    f"{RabbitMQ.name}, as one node is its normal form."
)
DURABLE_LEGEND = (
    f"Durable cases: {OURS} acknowledges when messages are on the disk, {MEMORY_ONLY} when the kernel has them, "
    f"{Mosquitto.name} when they are in its memory (it saves them every half hour and at its end)."
)


def header() -> str:
    """The head of the table as text."""
    return TABLE.header()


def lines(rows: Sequence[BenchRow]) -> list[str]:
    """The rows of one case as text."""
    return [TABLE.line(cells) for cells in _cells(rows)]


def markdown(cases: Iterable[Sequence[BenchRow]]) -> str:
    """The whole table as Markdown."""
    return f"{TABLE.markdown([cells for rows in cases for cells in _cells(rows)])}\n\n{LEGEND}"


def _cells(rows: Sequence[BenchRow]) -> list[list[str]]:
    ours = _find(rows, OURS)
    table = []
    for number, row in enumerate(rows):
        start = [row.case.name if number == 0 else "", row.target]
        shown = row.median
        if shown is None:
            table.append([*start, *["-"] * 7, f"failed: {row.errors[0]}"])
            continue
        table.append(
            [
                *start,
                _short(shown.rate_in),
                _short(shown.rate_out),
                figure(shown.cpu),
                times(ratio(row, ours)) if row is not ours else "",
                str(row.total("lost")),
                str(row.total("duplicates")),
                f"{shown.generator_share:.0%}",
                _remarks(row, share(rows) if row is ours else None),
            ]
        )
    return table


def ratio(row: BenchRow, ours: BenchRow | None) -> float | None:
    """How many times the CPU of ours this broker uses per delivery."""
    if ours is None or row.median is None or ours.median is None or not ours.median.cpu:
        return None
    return row.median.cpu / ours.median.cpu


def share(rows: Sequence[BenchRow]) -> float | None:
    """What our server keeps of its rate when it waits for the disk: the median of what each round shows.

    The two are compared round by round, because they ran side by side.
    """
    ours, memory_only = _find(rows, OURS), _find(rows, MEMORY_ONLY)
    if ours is None or memory_only is None:
        return None
    shares = [
        run.outcome.rate_out / other.outcome.rate_out
        for run, other in zip(ours.runs, memory_only.runs, strict=True)
        if run.outcome and other.outcome and other.outcome.rate_out
    ]
    return median_low(shares) if shares else None


def _find(rows: Sequence[BenchRow], target: str) -> BenchRow | None:
    return next((row for row in rows if row.target == target), None)


def _remarks(row: BenchRow, kept: float | None) -> str:
    shown = row.median
    words = [] if kept is None else [f"{kept:.0%} of {MEMORY_ONLY}'s rate"]
    words += [f"{figure(value)} {name}" for name, value in row.figures.items()]
    if shown and (remark := noise(shown.others)):
        words.append(remark)
    if shown and shown.note:
        words.append(shown.note)
    if row.total("late"):
        words.append(f"{row.total('late')} out of order")
    if row.total("unexpected"):
        words.append(f"{row.total('unexpected')} unexpected packets")
    if row.errors:
        words.append(f"{len(row.errors)} of {len(row.runs)} rounds failed: {row.errors[0]}")
    return ", ".join(words)


@dataclass(frozen=True)
class GoalResult:
    """How one goal of a case stands."""

    text: str
    met: bool


def goal_results(rows: Sequence[BenchRow]) -> list[GoalResult]:
    """Every goal of one case that can be judged by what was measured."""
    ours = _find(rows, OURS)
    if ours is None:
        return []
    case, found = ours.case, []
    yardstick = next(name for need, name in REFERENCE_TARGETS.items() if need in case.needs)
    peer = _find(rows, yardstick)
    if case.share is not None and ours.median and not ours.written:
        # Without storing, every goal of a durable case is easy.
        return [GoalResult(f"{case.name}: no writes to a disk were seen, so durability was not measured", False)]
    efficiency = ratio(peer, ours) if peer else None
    if efficiency is not None and case.goal is not None:
        text = f"{case.name}: {times(efficiency)} the CPU efficiency of {yardstick}, wanted {times(case.goal)}"
        found.append(GoalResult(text, efficiency >= case.goal))
    kept = share(rows)
    if kept is not None and case.share is not None:
        text = f"{case.name}: {kept:.0%} of {MEMORY_ONLY}'s rate, wanted {case.share:.0%}"
        found.append(GoalResult(text, kept >= case.share))
    for name, most in case.most.items():
        value = ours.figures.get(name)
        if value is not None:
            text = f"{case.name}: {figure(value)} {name}, wanted {figure(most)} at most{_scale(ours)}"
            found.append(GoalResult(text, value <= most))
    return found


def _scale(row: BenchRow) -> str:
    """A short run has fewer messages than the goal was set for, and must say so."""
    full, had = getattr(row.case, "messages", 0), row.figures.get("messages", 0)
    return f" (with {had:.0f} of {full} messages)" if had < full else ""


def shortfalls(rows: Sequence[BenchRow]) -> list[str]:
    """Goals for speed, memory and reliability that our server misses in one case."""
    return failures(rows) + [verdict.text for verdict in goal_results(rows) if not verdict.met]


def successes(rows: Sequence[BenchRow]) -> list[str]:
    """The goals that one case meets: none if our server did anything wrong, as losing messages is fast."""
    return [] if failures(rows) else [verdict.text for verdict in goal_results(rows) if verdict.met]


def failures(rows: Sequence[BenchRow]) -> list[str]:
    """Errors of our server in one case, speed aside."""
    found = []
    for row in rows:
        if row.target not in {OURS, MEMORY_ONLY}:
            continue
        who = row.case.name if row.target == OURS else f"{row.case.name} ({row.target})"
        found += [f"{who}: failed: {error}" for error in row.errors]
        lost, duplicates, unexpected, late = map(row.total, ("lost", "duplicates", "unexpected", "late"))
        if lost or duplicates or unexpected or late:
            order = f", {late} out of order" if late else ""
            found.append(f"{who}: {lost} lost, {duplicates} duplicates, {unexpected} unexpected packets{order}")
    return found


def as_data(row: BenchRow) -> dict[str, object]:
    """One row and all its rounds, for JSON."""
    runs = []
    for run in row.runs:
        data: dict[str, object] = {"round": run.round}
        if run.outcome is None:
            data["error"] = run.error
        else:
            outcome = run.outcome
            data |= asdict(outcome)
            data["broker_cpu_us_per_delivery"] = outcome.cpu
            data["generator_cpu_us_per_delivery"] = outcome.generator_cpu
            data["generator_share"] = outcome.generator_share
            data["cores_used_by_others"] = outcome.others
            data["disk_bytes_per_delivery"] = outcome.written
            data["in_per_second"] = outcome.rate_in
            data["out_per_second"] = outcome.rate_out
        runs.append(data)
    shown = row.median
    return {
        "case": row.case.name,
        "about": row.case.about,
        "goal": row.case.goal,
        "share_goal": row.case.share,
        "most": row.case.most,
        "target": row.target,
        "median_cpu_us": shown.cpu if shown else None,
        "median_figures": row.figures,
        "lost": row.total("lost"),
        "duplicates": row.total("duplicates"),
        "runs": runs,
    }


def _short(number: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}" if number < 1000 * size else f"{number / size:.0f}{unit}"
    return f"{number:.0f}"
