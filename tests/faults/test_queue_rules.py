"""The checker of histories of queues catches every kind of fault, and nothing that is allowed."""

from typing import Any

from faults.queues.history import Fate, Get, History, Key, Put, Records, Unit
from faults.queues.rules import recovered, violations

DONE, UNDONE, IN_DOUBT, TOLD = Fate.DONE, Fate.UNDONE, Fate.IN_DOUBT, Fate.TOLD
LAST_LIFE = 3


def broken(*units: Unit, **more: Any) -> list[str]:
    """The rules that a history of these units of work breaks."""
    return [one.rule for one in violations(History(list(units), LAST_LIFE, **more))]


def put(*numbers: int, fate: Fate = DONE, places: tuple[str, ...] = ("q",), life: int = 1, **more: Any) -> Unit:
    return Unit("sender", life, [Put("p", number, places, **more) for number in numbers], fate=fate)


def get(number: int, moment: int, *, fate: Fate = DONE, place: str = "q", life: int = 1, **more: Any) -> Unit:
    return Unit("receiver", life, gets=[Get(Key(place, "p", number), moment, **more)], fate=fate)


def failures(times: int, *, deserted: bool = False) -> list[Unit]:
    """A message is put and fails so many times, the last time because its program leaves, if so."""
    units = [put(1), *(get(1, moment, fate=UNDONE, failures=moment - 1) for moment in range(1, times + 1))]
    units[-1].deserted = deserted
    return units


def move(number: int, moment: int, to: int, fate: Fate, *, persistent: bool = True) -> Unit:
    """Get a message and put another elsewhere."""
    unit = put(to, fate=fate, places=("other",), persistent=persistent)
    unit.gets += get(number, moment).gets
    return unit


def test_what_is_put_and_got_once_is_right() -> None:
    assert broken(put(1, 2), get(1, 1), get(2, 2)) == []


# Lost


def test_what_was_put_for_certain_and_is_never_seen_is_lost() -> None:
    assert broken(put(1, 2), get(1, 1)) == ["lost"]


def test_it_has_to_be_in_each_of_its_places() -> None:
    assert broken(put(1, places=("q", "r")), get(1, 1)) == ["lost"]


def test_what_was_refused_or_in_doubt_need_not_be_seen() -> None:
    assert broken(put(1, fate=UNDONE), put(2, fate=IN_DOUBT)) == []


def test_what_was_given_back_and_never_comes_again_is_lost() -> None:
    assert broken(put(1), get(1, 1, fate=UNDONE)) == ["lost"]


def test_that_holds_for_a_message_that_was_put_in_doubt_and_seen() -> None:
    assert broken(put(1, fate=IN_DOUBT), get(1, 1, fate=UNDONE)) == ["lost"]


def test_a_get_in_doubt_may_have_been_the_last() -> None:
    assert broken(put(1), get(1, 1, fate=IN_DOUBT)) == []


def test_a_message_that_is_not_persistent_may_vanish_by_a_kill() -> None:
    assert broken(put(1, persistent=False, life=LAST_LIFE - 1)) == []


def test_but_by_nothing_else() -> None:
    assert broken(put(1, persistent=False, life=LAST_LIFE)) == ["lost"]


# Duplicated


def test_what_was_got_for_certain_may_not_be_seen_again() -> None:
    assert broken(put(1), get(1, 1), get(1, 2)) == ["duplicated"]


def test_not_even_by_somebody_who_gives_it_back() -> None:
    assert "duplicated" in broken(put(1), get(1, 1, life=1), get(1, 2, fate=UNDONE, life=2))


def test_what_was_given_back_comes_again() -> None:
    assert broken(put(1), get(1, 1, fate=UNDONE), get(1, 2, failures=1)) == []


def test_an_acknowledgement_without_an_answer_may_be_forgotten_by_a_kill() -> None:
    assert broken(put(1), get(1, 1, fate=TOLD, life=1), get(1, 2, life=2)) == []


def test_and_by_nothing_else() -> None:
    assert broken(put(1), get(1, 1, fate=TOLD), get(1, 2)) == ["duplicated"]


# Unexpected


def test_what_nobody_put_is_unexpected() -> None:
    assert broken(get(1, 1)) == ["unexpected"]


def test_so_is_what_was_put_elsewhere() -> None:
    assert sorted(broken(put(1, places=("r",)), get(1, 1))) == ["lost", "unexpected"]


def test_so_is_what_was_rolled_back() -> None:
    assert broken(put(1, fate=UNDONE), get(1, 1)) == ["unexpected"]


def test_so_is_what_cannot_be_read() -> None:
    assert broken(damaged=["?"]) == ["unexpected"]


def test_what_was_put_in_doubt_may_be_there_and_is_counted() -> None:
    units = [put(1, 2, fate=IN_DOUBT), put(3, fate=IN_DOUBT), get(1, 1), get(2, 2)]
    assert broken(*units) == []
    assert recovered(History(units)) == 1


# Half-committed


def test_of_a_unit_in_doubt_some_puts_without_the_others_are_half_of_it() -> None:
    assert broken(put(1, 2, fate=IN_DOUBT), get(1, 1)) == ["half-committed"]


def test_so_is_a_message_in_one_of_its_places() -> None:
    assert broken(put(1, fate=IN_DOUBT, places=("q", "r")), get(1, 1)) == ["half-committed"]


def test_so_is_a_get_without_the_put() -> None:
    assert broken(put(1), move(1, 1, to=2, fate=IN_DOUBT)) == ["half-committed"]


def test_so_is_a_put_without_the_get() -> None:
    units = [put(1), move(1, 1, to=2, fate=IN_DOUBT), get(1, 2), get(2, 3, place="other")]
    assert broken(*units) == ["half-committed"]


def test_all_of_it_is_right() -> None:
    assert broken(put(1), move(1, 1, to=2, fate=IN_DOUBT), get(2, 3, place="other")) == []


def test_nothing_of_it_is_right() -> None:
    assert broken(put(1), move(1, 1, to=2, fate=IN_DOUBT), get(1, 2)) == []


def test_what_is_not_persistent_says_nothing_when_it_is_missing() -> None:
    assert broken(put(1), move(1, 1, to=2, fate=IN_DOUBT, persistent=False)) == []


# Order


def test_messages_of_one_sender_come_in_order() -> None:
    assert broken(put(1, 2), get(2, 1), get(1, 2), ordered={"q"}) == ["order"]


def test_what_comes_again_does_not_count() -> None:
    units = [put(1, 2), get(1, 1, fate=UNDONE), get(2, 2), get(1, 3, failures=1)]
    assert broken(*units, ordered={"q"}) == []


def test_where_several_consume_there_is_no_order() -> None:
    assert broken(put(1, 2), get(2, 1), get(1, 2)) == []


def test_what_is_not_persistent_may_overtake_what_is() -> None:
    assert broken(put(1), put(2, persistent=False), get(2, 1), get(1, 2), ordered={"q"}) == []


# Failures


def test_a_failure_has_to_be_counted() -> None:
    assert broken(put(1), get(1, 1, fate=UNDONE), get(1, 2)) == ["count"]


def test_a_consumer_that_is_closed_is_no_failure() -> None:
    closed = get(1, 1, fate=UNDONE)
    closed.blameless = True
    assert broken(put(1), closed, get(1, 2)) == []


def test_such_a_consumer_may_not_be_counted_as_one() -> None:
    closed = get(1, 1, fate=UNDONE)
    closed.blameless = True
    assert broken(put(1), closed, get(1, 2, failures=1)) == ["count"]


def test_a_kill_may_forget_it() -> None:
    assert broken(*failures(2), get(1, 3, failures=1, life=2)) == []


def test_a_failure_may_not_be_counted_twice() -> None:
    assert broken(*failures(2), get(1, 3, failures=3)) == ["count"]


def test_not_even_by_a_kill() -> None:
    assert broken(*failures(2), get(1, 3, failures=3, life=2)) == ["count"]


def test_a_message_that_nobody_had_has_not_failed() -> None:
    assert broken(put(1), get(1, 1, failures=1, life=2)) == ["count"]


def test_a_server_that_is_stopped_may_count_what_was_fetched_ahead() -> None:
    assert broken(put(1), get(1, 1, failures=1, life=2), stopped={1}) == []
    assert broken(*failures(2), get(1, 3, failures=3, life=2), stopped={1}) == []
    assert broken(*failures(2), get(1, 3, failures=4, life=2), stopped={1}) == ["count"]


def test_a_message_that_failed_too_often_may_not_come_from_its_queue() -> None:
    assert broken(*failures(4), get(1, 5, failures=4), thresholds={"q": 4}) == ["backed out"]


def test_nor_after_a_kill() -> None:
    assert broken(*failures(4), get(1, 5, failures=4, life=2), thresholds={"q": 4}) == ["backed out"]


def test_it_comes_from_the_other_queue() -> None:
    assert broken(*failures(4), get(1, 5, failures=4, backed_out=True), thresholds={"q": 4}) == []


def test_one_that_has_not_may_not_be_backed_out() -> None:
    assert broken(*failures(3), get(1, 4, failures=3, backed_out=True), thresholds={"q": 4}) == ["backed out"]


def test_one_whose_program_left_without_a_word_gets_one_more_chance() -> None:
    assert broken(*failures(4, deserted=True), get(1, 5, failures=4), thresholds={"q": 4}) == []


def test_and_keeps_it_when_the_server_is_killed_with_it_in_hand() -> None:
    units = [*failures(4, deserted=True), get(1, 5, failures=4, fate=UNDONE), get(1, 6, failures=4, life=2)]
    assert broken(*units, thresholds={"q": 4}) == []


def test_it_must_have_that_chance() -> None:
    backed_out = get(1, 5, failures=4, backed_out=True)
    assert broken(*failures(4, deserted=True), backed_out, thresholds={"q": 4}) == ["backed out"]


def test_and_only_one() -> None:
    units = [*failures(4, deserted=True), get(1, 5, failures=4, fate=UNDONE), get(1, 6, failures=5)]
    assert broken(*units, thresholds={"q": 4}) == ["backed out"]


def test_that_a_program_left_once_says_nothing_about_later_failures() -> None:
    units = failures(4)
    units[-2].deserted = True
    assert broken(*units, get(1, 5, failures=4), thresholds={"q": 4}) == ["backed out"]


def test_a_server_that_is_stopped_may_have_lost_the_last_one_who_had_it() -> None:
    for backed_out in (False, True):
        last = get(1, 5, failures=4, life=2, backed_out=backed_out)
        assert broken(*failures(4), last, thresholds={"q": 4}, stopped={1}) == []


# The rest


def test_a_selector_lets_nothing_else_through() -> None:
    assert broken(put(1), get(1, 1, selected=False)) == ["selector"]


def test_an_empty_queue_has_no_depth() -> None:
    assert broken(left_over={"q": 1, "r": 0}) == ["left over"]


# The log


def test_what_the_log_tells_has_to_fit() -> None:
    records = Records(stored={Key("q", "p", 1): 40}, done={Key("q", "p", 1): 80})
    assert broken(put(1), get(1, 1), records=records) == []


def test_what_was_put_for_certain_is_in_the_log() -> None:
    assert broken(put(1), get(1, 1), records=Records()) == ["log"]


def test_what_was_put_in_doubt_or_is_not_persistent_need_not_be_in_the_log() -> None:
    assert broken(put(1, fate=IN_DOUBT), put(2, persistent=False), get(2, 1), records=Records()) == []


def test_what_was_rolled_back_is_not_in_the_log() -> None:
    assert broken(put(1, fate=UNDONE), records=Records(stored={Key("q", "p", 1): 40})) == ["log"]


def test_nothing_is_acknowledged_that_nobody_had() -> None:
    records = Records(stored={Key("q", "p", 1): 40}, done={Key("q", "p", 1): 80})
    assert broken(put(1, fate=IN_DOUBT), records=records) == ["log"]


def test_the_log_tells_what_became_of_a_lost_message() -> None:
    records = Records(stored={Key("q", "p", 1): 40}, done={Key("q", "p", 1): 80})
    found = violations(History([put(1)], LAST_LIFE, records=records))
    assert str(found[0]) == (
        "lost: p 1 in q was put (done, life 1), and never seen; it is in the log at 40, acknowledged at 80"
    )
