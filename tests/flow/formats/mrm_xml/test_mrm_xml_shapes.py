"""Which elements may follow each other: all that a group allows, and never slow."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.formats.mrm_xml.mrm_xml_shapes import Following, Particle

OCCURS = st.sampled_from([(1, 1), (0, 1), (0, None), (1, None), (2, 3), (0, 2), (2, None), (1, 2)])
ELEMENT = st.builds(lambda code, occurs: Particle(code, (), False, *occurs), st.sampled_from("abc"), OCCURS)


def group(inside: st.SearchStrategy[Particle]) -> st.SearchStrategy[Particle]:
    members = st.lists(inside, min_size=1, max_size=3).map(tuple)
    return st.builds(lambda them, choice, occurs: Particle("", them, choice, *occurs), members, st.booleans(), OCCURS)


PARTICLES = st.recursive(ELEMENT, group, max_leaves=6)


LONGEST = 4


def language(particle: Particle) -> set[str]:
    """All texts that it may be, up to some length."""
    once = {particle.code} if particle.code else set() if particle.choice else {""}
    for one in particle.inside:
        texts = language(one)
        once = once | texts if particle.choice else joined(once, texts)
    result: set[str] = set()
    texts = {""}
    for count in range(min(particle.most or LONGEST + 3, LONGEST + 3) + 1):
        result |= texts if count >= particle.least else set()
        texts = joined(texts, once)
    return result


def joined(first: set[str], second: set[str]) -> set[str]:
    return {one + other for one in first for other in second if len(one + other) <= LONGEST}


@given(PARTICLES, st.text("abc", max_size=LONGEST))
@settings(max_examples=300, deadline=None)
def test_it_is_what_the_members_may_be_one_behind_the_other(particle: Particle, codes: str) -> None:
    expected = codes in language(particle)
    following = Following(particle)
    assert following.fits(codes) == expected
    if following.surely(codes) is not None:
        assert expected


def test_many_elements_that_do_not_fit_take_no_time() -> None:
    many = (Particle("a", (), False, 0, None), Particle("b", (), False, 0, None))
    ambiguous = Particle("", (Particle("", many, False, 0, None), Particle("c")))
    for whole in (ambiguous, Particle("", (Particle("", many, True, 0, None), Particle("c")))):
        following = Following(whole)
        start = time.thread_time()
        assert not following.fits("ab" * 2000)
        assert following.fits("ab" * 2000 + "c")
        assert time.thread_time() - start < 2


def test_counts_that_no_pattern_can_have_are_no_problem() -> None:
    assert not Following(Particle("a", (), False, 1 << 40, 1 << 80)).fits("aaa")
    assert Following(Particle("a", (), False, 0, 1 << 80)).fits("aaa")
