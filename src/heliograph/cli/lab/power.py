"""Add the log of a power meter to runs: watts, while each of them was measured.

The log of a power distribution unit is a table with headings as Log Date, Log Time, Voltage, Current, Power Factor,
Watts, kWh. A system with two power supplies has two logs, which are added. Times are this machine's local time.
"""

import argparse
from pathlib import Path

from heliograph.cli.lab.options import add_out
from heliograph.errors import Problem
from heliograph.lab.probes import power_samples, read_power_log
from heliograph.lab.raw import add_samples, read_table, run_names

EXAMPLES = """\
  helio lab power pdu.csv
  helio lab power supply-1.csv supply-2.csv --run 20261116T132049-PERSISTENT.MPW-heliograph-1f3a
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio lab power`."""
    parser.add_argument("logs", nargs="+", type=Path, metavar="FILE", help="the log of one power supply")
    parser.add_argument("--run", action="append", metavar="ID", help="only this run (all that the logs reach over)")
    add_out(parser)


def run(args: argparse.Namespace) -> int:
    """Add to each run what was drawn meanwhile."""
    logs = [read_power_log(path) for path in args.logs]
    known = run_names(args.out)
    for name in args.run or ():
        if name not in known:
            raise Problem(f"{args.out}: there is no run {name}")
    added = 0
    for name in args.run or known:
        [about] = read_table(args.out, name, "manifest").select(["started", "seconds"]).to_pylist()
        samples = power_samples(logs, about["started"].timestamp(), about["seconds"])
        if samples:
            add_samples(args.out, name, samples, instead_of="power")
            added += 1
            print(f"{name}: {sum(sample.value for sample in samples) / len(samples):.1f} W")
    if not added:
        raise Problem("the logs do not reach over any of the runs; nothing was changed")
    return 0
