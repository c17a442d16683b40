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


def turn(name: str, seconds: float, seed: int) -> tuple[int, set[str]]:
    """Let a target run for some time: how many inputs it took, and what was found."""
    from fuzz.findings import FOUND

    with tempfile.TemporaryDirectory(prefix="fuzz-guided-") as folder:
        work, crash = Path(folder) / "work", FOUND / name / f"guided-{seed}-"
        work.mkdir()
        crash.parent.mkdir(parents=True, exist_ok=True)
        options = [f"-max_total_time={int(seconds)}", f"-seed={seed + 1}", f"-artifact_prefix={crash}"]
        done = _child(name, [*options, "-rss_limit_mb=2048", "-timeout=10", str(work)], seconds + 60)
        inputs = next((int(line.split()[1]) for line in done.splitlines() if line.startswith("Done ")), 0)
        crashes = sorted(crash.parent.glob(f"{crash.name}*"))
        if not inputs and not crashes:
            raise RuntimeError(f"fuzzing {name} by coverage did not work:\n{done[-3000:]}")
        new = 0 if crashes else _merge(name, work)
        print(f"{name:12} {inputs:7} inputs by coverage {len(crashes):4} failed, {new} new in the corpus", flush=True)
        for path in crashes:
            print(f"FOUND {name}\n  again: PYTHONPATH=src:tests python -m fuzz --replay {path}", flush=True)
    return inputs, {path.name for path in crashes}


def _merge(name: str, work: Path) -> int:
    """Take what reaches code that neither good inputs nor the corpus reach; how many files came."""
    from fuzz.targets.every import TARGETS as EVERY

    for path in work.iterdir():
        if path.stat().st_size > _LONGEST:
            path.unlink()
    with tempfile.TemporaryDirectory(prefix="fuzz-merged-") as folder:
        merged = Path(folder)
        for number, data in enumerate(EVERY[name]().pool):
            (merged / f"known-{number}").write_bytes(data)
        # Without counters: another number of rounds through a loop is nothing new.
        _child(name, ["-merge=1", "-use_counters=0", str(merged), str(work)], 300)
        found = [path.read_bytes() for path in merged.iterdir() if not path.name.startswith("known-")]
    room = max(0, _MOST_FILES - len(corpus_files(name)))
    new = sorted(found, key=len)[:room]
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    for data in new:
        (CORPUS / name / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    return len(new)


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
