"""`make faults`: kill the server hundreds of times under load, and check the whole history at the end."""

import argparse
import sys
import tempfile
from pathlib import Path

from faults.brokers import Heliograph, Mosquitto
from faults.kill_run import Ending, KillRun, seed_from_environment

WORST = 30
"""Broken rules that are printed; more of them say nothing new."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=seed_from_environment())
    parser.add_argument("--broker", choices=("heliograph", "mosquitto"), default="heliograph")
    parser.add_argument("--durability", choices=("disk", "memory"), default="disk", help="of heliograph")
    parser.add_argument("--ending", type=Ending, choices=list(Ending), default=Ending.KILL, help="of each round")
    parser.add_argument("--mosquitto-sub", action="store_true", help="with a mosquitto_sub among the subscribers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        place = Path(folder)
        broker = Mosquitto(place) if options.broker == "mosquitto" else Heliograph(place, options.durability)
        run = KillRun(broker, options.seed, mosquitto_sub=options.mosquitto_sub)
        print(f"seed {options.seed}", flush=True)
        figures = run.run(options.rounds, options.ending, progress=lambda line: print(line, flush=True))
    broken = run.violations()
    for one in broken[:WORST]:
        print(one)
    print(f"{options.broker}: {figures}: {f'{len(broken)} broken rules' if broken else 'nothing lost, nothing wrong'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
