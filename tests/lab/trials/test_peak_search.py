"""Search on a simulated system with a known peak: found within 5 %, and nothing is claimed that was not shown."""

import random
from dataclasses import dataclass

import pytest

from heliograph.lab.trials.peak_search import Search


@dataclass
class Verdict:
    passed: bool
    generator_bound: bool = False
    why: str = ""


class Simulated:
    """Holds up to its peak, which moves with the mood of the machine; longer trials are less moody."""

    def __init__(self, peak, *, seed=1, noise=0.0, hiccups=0.0, generator=float("inf")):
        self.peak = peak
        self.generator = generator
        self.noise = noise
        self.hiccups = hiccups
        self.dice = random.Random(seed)
        self.tried = []

    def __call__(self, rate, purpose):
        self.tried.append((rate, purpose))
        noise = self.noise / 3 if purpose == "confirm" else self.noise
        peak = self.peak * self.dice.gauss(1, noise)
        hiccup = purpose != "confirm" and self.dice.random() < self.hiccups
        return Verdict(rate <= peak and not hiccup, rate > self.generator, "too slow")


@pytest.mark.parametrize("peak", [130, 1_000, 77_777, 2_345_678])
def test_the_peak_of_a_steady_system_is_found_from_below(peak):
    found = Search(Simulated(peak), first=100).run()
    assert 0.97 * peak <= found.rate <= peak
    assert not found.generator_bound


@pytest.mark.parametrize("seed", range(40))
def test_the_peak_of_a_noisy_system_is_found_within_5_per_cent(seed):
    """Trials vary by 2 %, and one in twenty fails for no reason."""
    found = Search(Simulated(50_000, seed=seed, noise=0.02, hiccups=0.05), first=400).run()
    assert found.rate == pytest.approx(50_000, rel=0.05)


def test_steps_come_first_then_bisection_and_the_last_word_has_a_confirmation():
    system = Simulated(5_000)
    found = Search(system, first=100).run()
    purposes = [purpose for _, purpose in system.tried]
    assert [rate for rate, purpose in system.tried if purpose == "step"][:4] == [100, 200, 400, 800]
    assert purposes == sorted(purposes, key=["step", "bisect", "confirm"].index)
    assert system.tried[-1] == (found.rate, "confirm")


def test_a_search_takes_few_trials():
    system = Simulated(100_000)
    Search(system, first=1_000).run()
    assert len(system.tried) < 25


def test_a_limit_of_the_generator_is_not_called_the_systems():
    found = Search(Simulated(1_000_000, generator=30_000), first=100).run()
    assert found.generator_bound
    assert 29_000 < found.rate <= 30_000
    assert found.sentence("msg/s") == f"at least {found.rate:,.0f} msg/s; the generator was the limit"


def test_a_peak_below_what_the_generator_can_do_is_the_systems_own():
    found = Search(Simulated(10_000, generator=30_000), first=100).run()
    assert not found.generator_bound
    assert found.rate == pytest.approx(10_000, rel=0.05)


def test_a_rate_that_is_not_confirmed_is_lowered_until_one_is():
    """It holds 1000 for a moment and 950 for long."""

    def tired(rate, purpose):
        return Verdict(rate <= (950 if purpose == "confirm" else 1000), why="tired")

    assert Search(tired, first=10).run().rate == pytest.approx(950, rel=0.05)


def test_a_system_that_holds_nothing_has_no_figure():
    found = Search(Simulated(5), first=10).run()
    assert found.rate is None
    assert found.sentence("msg/s") == "no rate was sustained; 10 msg/s failed: too slow"


def test_what_comes_in_whole_numbers_is_tried_in_whole_numbers():
    system = Simulated(37)
    found = Search(system, first=3, whole=True).run()
    assert found.rate == 37
    assert all(rate == int(rate) for rate, _ in system.tried)
