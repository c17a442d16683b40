"""Probes: they see what a process of known use does, and cost next to nothing themselves."""

import subprocess
import sys
import time

import pytest

from heliograph.lab.probes.machine_probe import EnergyProbe, MachineProbe, readable_zones
from heliograph.lab.probes.probe import MOST_SHARE, Value, watching
from heliograph.lab.probes.process_probe import ProcessProbe

# Uses 0.3 s of CPU time, holds 64 MB, says so, and waits.
KNOWN = """
import sys, time
held = bytearray(64 << 20)
while time.process_time() < 0.3:
    pass
print(time.process_time(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def known_process():
    with subprocess.Popen(
        [sys.executable, "-c", KNOWN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as one:
        used = float(one.stdout.readline())
        yield one.pid, used
        one.stdin.close()


def values(probe):
    return {(value.source, value.metric): value.value for value in probe.read()}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_cpu_time_and_memory_of_a_process_are_what_it_used(known_process):
    pid, used = known_process
    found = values(ProcessProbe("server", lambda: [pid]))
    assert found["server", "cpu_seconds"] == pytest.approx(used, rel=0.05)
    assert 64 << 20 < found["server", "rss_bytes"] < 160 << 20
    assert found["server", "context_switches"] >= 1


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_at_rest_uses_nothing(known_process):
    pid, _ = known_process
    probe = ProcessProbe("server", lambda: [pid])
    probe.read()
    time.sleep(0.05)
    found = values(probe)
    assert found["server", "cpu_percent"] < 5
    assert found["server", "busiest_thread_percent"] < 5


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_that_has_gone_is_left_out():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert list(ProcessProbe("server", lambda: [gone.pid]).read()) == []


def test_the_machine_has_cores_memory_and_a_network():
    probe = MachineProbe()
    list(probe.read())
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    found = list(probe.read())
    busy = [value for value in found if (value.source, value.metric) == ("core", "busy_percent")]
    assert busy
    assert all(0 <= value.value <= 100 for value in busy)
    assert any(value.value > 0 for value in busy)
    metrics = {(value.source, value.metric) for value in found}
    assert {("machine", "available_bytes"), ("machine", "context_switches"), ("network", "sent_bytes")} <= metrics


class Dear:
    """A probe that takes a while and counts how often it was asked."""

    asks = False

    def __init__(self, seconds):
        self.seconds = seconds
        self.looks = 0
        self.closed = False

    def read(self):
        self.looks += 1
        until = time.thread_time() + self.seconds
        while time.thread_time() < until:
            pass
        return [Value("server", "dear", "depth", self.looks)]

    def close(self):
        self.closed = True


class Slow(Dear):
    """It waits for somebody else."""

    asks = True

    def __init__(self):
        super().__init__(0.0)

    def read(self):
        time.sleep(0.02)
        return super().read()


def test_a_dear_probe_looks_less_often(monkeypatch):
    monkeypatch.setattr("heliograph.lab.probes.probe.SECONDS", 0.02)
    cheap, dear = Dear(0.0), Dear(0.01)  # which may look again in a second
    with watching([cheap, dear]):
        deadline = time.monotonic() + 10
        while cheap.looks < 10 and time.monotonic() < deadline:
            time.sleep(0.005)
    assert cheap.looks >= 10
    assert dear.looks <= 3  # at first, perhaps once more, and at the end


def test_a_server_that_takes_its_time_to_answer_is_asked_less_often(monkeypatch):
    """What its answer costs it cannot be seen from here, but it is no more than the time that it takes."""
    monkeypatch.setattr("heliograph.lab.probes.probe.SECONDS", 0.02)
    cheap, slow = Dear(0.0), Slow()
    with watching([cheap, slow]):
        deadline = time.monotonic() + 10
        while cheap.looks < 10 and time.monotonic() < deadline:
            time.sleep(0.005)
    assert slow.looks <= 3


def test_samples_are_timed_from_the_beginning_of_the_measured_time():
    probe = Dear(0.0)
    with watching([probe]) as watch:
        while not probe.looks:
            time.sleep(0.001)
        watch.begin(time.monotonic() + 100)
    assert all(-101 < sample.at < -99 for sample in watch.samples)
    assert [sample.value for sample in watch.samples] == list(range(1, probe.looks + 1))
    assert probe.closed


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_look_at_machine_and_processes_costs_less_than_a_hundredth_of_a_second(known_process):
    pid, _ = known_process
    probes = [MachineProbe(), ProcessProbe("server", lambda: [pid])]
    spent = []
    for _ in range(5):
        start = time.thread_time()
        for probe in probes:
            list(probe.read())
        spent.append(time.thread_time() - start)
    assert min(spent) < MOST_SHARE


def test_energy_is_the_difference_of_counters_that_start_again(tmp_path):
    zone = tmp_path / "intel-rapl:0"
    zone.mkdir()
    (zone / "max_energy_range_uj").write_text("1000000\n")
    (zone / "energy_uj").write_text("900000\n")
    (tmp_path / "intel-rapl:0:0").mkdir()  # a part of the package, which is counted in it
    assert readable_zones(tmp_path) == [zone]
    probe = EnergyProbe([zone])
    start = time.perf_counter()
    assert list(probe.read()) == []
    first = time.perf_counter()
    (zone / "energy_uj").write_text("400000\n")  # 0.1 J to the end of the counter, and 0.4 J from there
    second = time.perf_counter()
    [value] = probe.read()
    assert (value.source, value.metric) == ("power", "watts")
    assert 0.5 / (time.perf_counter() - start) <= value.value <= 0.5 / (second - first)
