"""Fuzzing that is guided by coverage, with atheris: inputs that reach new code are kept, and changed further.

It runs in a process of its own, because atheris counts the branches of modules as they are imported, and ends the
process when it is through. What it finds worth keeping goes into the corpus.
"""

import hashlib
import importlib.util
import random
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from fuzz.findings import FOUND
from fuzz.target import CORPUS, Target, corpus_files

TARGETS = ("mqtt_codec", "amqp_codec", "selectors")
"""Those that are fast enough, and whose code Python can see."""

_LONGEST = 400
"""Bytes of an input that goes into the corpus."""
_MOST_FILES = 300
"""Files of one target in the corpus."""


def is_possible() -> bool:
    """Whether atheris is there; a line says how to get it if it is not."""
    if importlib.util.find_spec("atheris") is not None:
        return True
    print("not guided by coverage: atheris is not installed (pip install -c constraints.txt -e '.[fuzz]')", flush=True)
    return False


class Guided:
    """A target's turns, each of which goes on where the last one ended."""

    def __init__(self, target: Target) -> None:
        self._name = target.name
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-guided-")
        self._known, self._work = Path(self._folder.name) / "known", Path(self._folder.name) / "work"
        self._known.mkdir()
        self._work.mkdir()
        for number, data in enumerate(target.pool):
            (self._known / f"known-{number}").write_bytes(data)

    def turn(self, seconds: float, seed: int) -> tuple[int, set[str]]:
        """Go on for some time: how many inputs were taken, and what was found."""
        name, crash = self._name, FOUND / self._name / f"guided-{seed}-"
        crash.parent.mkdir(parents=True, exist_ok=True)
        options = [f"-max_total_time={int(seconds)}", f"-seed={seed + 1}", f"-artifact_prefix={crash}"]
        options += ["-rss_limit_mb=2048", "-timeout=10"]
        done = _child(name, [*options, str(self._work), str(self._known)], seconds + 60)
        inputs = next((int(line.split()[1]) for line in done.splitlines() if line.startswith("Done ")), 0)
        crashes = sorted(crash.parent.glob(f"{crash.name}*"))
        if not inputs and not crashes:
            raise RuntimeError(f"fuzzing {name} by coverage did not work:\n{done[-3000:]}")
        print(f"{name:12} {inputs:7} inputs {inputs / seconds:8.0f}/s {len(crashes):4} failed, by coverage", flush=True)
        for path in crashes:
            print(f"FOUND {name}\n  again: PYTHONPATH=src:tests python -m fuzz --replay {path}", flush=True)
        return inputs, {path.name for path in crashes}

    def close(self) -> None:
        """Put into the corpus what reaches code that neither good inputs nor the corpus reach."""
        print(f"{self._name}: looking for what is new to the corpus, which may take a minute", flush=True)
        for path in self._work.iterdir():
            if path.stat().st_size > _LONGEST:
                path.unlink()
        # Without counters: another number of rounds through a loop is nothing new.
        _child(self._name, ["-merge=1", "-use_counters=0", str(self._known), str(self._work)], 300)
        found = [path.read_bytes() for path in self._known.iterdir() if not path.name.startswith("known-")]
        self._folder.cleanup()
        room = max(0, _MOST_FILES - len(corpus_files(self._name)))
        (CORPUS / self._name).mkdir(parents=True, exist_ok=True)
        for data in sorted(found, key=len)[:room]:
            (CORPUS / self._name / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
        print(f"{self._name}: {min(len(found), room)} new in the corpus", flush=True)


def _child(name: str, words: list[str], patience: float) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.guided", name, *words],
        capture_output=True,
        text=True,
        timeout=patience,
        check=False,
    )
    return done.stdout + done.stderr


def _main() -> None:
    import atheris

    name, *words = sys.argv[1:]
    with atheris.instrument_imports(include=["heliograph.mqtt", "heliograph.amqp", "heliograph.broker.queues"]):
        from fuzz.targets.every import TARGETS as EVERY
    target: Target = EVERY[name]()

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.5:
            return atheris.Mutate(data, most)
        return (target.made(chance) if chance.random() < 0.1 else target.changed(data, chance))[:most]

    # To merge, libFuzzer runs the first word in a shell, again and again.
    again = shlex.join([sys.executable, "-m", "fuzz.guided", name])
    atheris.Setup([again, *words], target.attempt, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    _main()
