"""Branch coverage of each room, and whether one is below its floor in pyproject.toml.

`make coverage` runs it with the report that `coverage json` has written.
"""

import json
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "src/heliograph/"


def room_of(path: str, rooms: list[str]) -> str:
    """The longest name of a room that the path begins with: `broker/core` before `broker`."""
    inside = path.removeprefix(PACKAGE)
    fitting = [room for room in rooms if inside.startswith(f"{room}/")]
    return max(fitting, key=len) if fitting else inside.split("/")[0]


def coverage_of_rooms(report: dict[str, object], rooms: list[str]) -> dict[str, float]:
    """Lines and branches that were run, in percent of all that there are."""
    run: dict[str, int] = defaultdict(int)
    there: dict[str, int] = defaultdict(int)
    files: dict[str, dict[str, dict[str, int]]] = report["files"]  # type: ignore[assignment]
    for path, figures in files.items():
        summary, room = figures["summary"], room_of(path, rooms)
        run[room] += summary["covered_lines"] + summary["covered_branches"]
        there[room] += summary["num_statements"] + summary["num_branches"]
    return {room: 100 * run[room] / there[room] for room in there if there[room]}


def main(report: str) -> int:
    """Print a line for each room; 1 if one is below its floor."""
    floors: dict[str, float] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["heliograph"]["coverage"]
    reached = coverage_of_rooms(json.loads(Path(report).read_text()), list(floors))
    print(f"{'room':16} {'covered':>8} {'floor':>6}")
    for room, floor in sorted(floors.items()):
        percent = reached.get(room, 0)
        print(f"{room:16} {percent:7.1f}% {floor:5}%{'  BELOW' if percent < floor else ''}")
    below = [room for room, floor in floors.items() if reached.get(room, 0) < floor]
    if below:
        print(f"coverage is below the floor: {', '.join(below)}")
        print("lines without tests: .venv/bin/coverage report --skip-covered -m --include='src/heliograph/ROOM/*'")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
