"""Results that come later."""

import pytest

from heliograph.client.pending import Pending, all_of, resolved, start


def test_a_coroutine_goes_on_in_the_call_that_settles_what_it_waits_for():
    first, second = Pending(), Pending()

    async def steps():
        return await first + await second

    outcome = start(steps())
    first.resolve(1)
    assert not outcome.done
    second.resolve(2)
    assert outcome.result() == 3


def test_a_failure_is_raised_where_it_is_awaited():
    pending = Pending()

    async def steps():
        try:
            await pending
        except ValueError:
            return "caught"

    outcome = start(steps())
    pending.fail(ValueError())
    assert outcome.result() == "caught"


def test_the_first_result_stays():
    pending = resolved(1)
    pending.resolve(2)
    pending.fail(ValueError())
    assert pending.result() == 1


def test_a_thousand_results_that_are_there_already_need_no_deep_stack():
    async def steps():
        for number in range(5000):
            await resolved(number)
        return number

    assert start(steps()).result() == 4999


def test_all_of_waits_for_the_last_even_if_the_first_fails():
    first, second = Pending(), Pending()
    both = all_of([first, second])
    first.fail(ValueError("first"))
    assert not both.done
    second.resolve(None)
    with pytest.raises(ValueError, match="first"):
        both.result()


def test_all_of_nothing_is_done():
    assert all_of([]).done
