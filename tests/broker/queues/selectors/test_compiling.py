"""What selectors mean, rule by rule."""

import pickle
import time

import pytest

from heliograph.broker.errors import SelectorError
from heliograph.broker.queues.message_view import MessageView
from heliograph.broker.queues.selectors import compiling
from heliograph.broker.queues.selectors.compiling import Selector, selector_for


def matches(text, **properties):
    view = MessageView(b"")
    view.application = properties
    return Selector(text).matches(view)


def problem(text):
    with pytest.raises(SelectorError) as caught:
        Selector(text)
    return str(caught.value)


class TestValues:
    def test_strings_are_equal_letter_by_letter(self):
        assert matches("colour = 'red'", colour="red")
        assert not matches("colour = 'red'", colour="Red")

    def test_a_quote_in_a_string_is_written_twice(self):
        assert matches("name = 'it''s'", name="it's")

    def test_exact_and_approximate_numbers_compare(self):
        assert matches("weight = 3.0 AND weight < 3.5 AND weight >= 3", weight=3)

    @pytest.mark.parametrize("text", ["17", "17L", "0x11", "0X11", "021", "17.", "1.7e1", "170E-1", "17.0d", "+17"])
    def test_numbers_can_be_written_as_in_java(self, text):
        assert matches(f"n = {text}", n=17)

    def test_the_smallest_number_can_be_written(self):
        assert matches("n = -9223372036854775808", n=-(2**63))

    def test_words_of_the_language_have_no_case(self):
        assert matches("a like 'x%' And b iS nOt nUlL oR false", a="xy", b=1)

    def test_names_of_properties_have_case(self):
        assert not matches("Colour = 'red'", colour="red")

    def test_names_can_have_dollars_and_dots_and_letters_of_any_language(self):
        view = MessageView(b"")
        view.application = {"$a": 1, "b_1": 2, "farbe.größe": 3}
        assert Selector("$a = 1 AND b_1 = 2 AND farbe.größe = 3").matches(view)

    def test_names_in_double_quotes_can_be_anything(self):
        view = MessageView(b"")
        view.application = {"content-type": "x", "AND": 2}
        assert Selector('"content-type" = \'x\' AND "AND" = 2').matches(view)


class TestKinds:
    @pytest.mark.parametrize("other", [3, 3.0, True, b"red", None])
    def test_a_string_compares_to_nothing_but_strings(self, other):
        assert not matches("a = 'red'", a=other)
        assert not matches("a <> 'red'", a=other)

    @pytest.mark.parametrize("other", ["1", True, b"1", None])
    def test_a_number_compares_to_nothing_but_numbers(self, other):
        for operator in ("=", "<>", "<", ">", "<=", ">="):
            assert not matches(f"a {operator} 1", a=other)
            assert not matches(f"NOT a {operator} 1", a=other)

    def test_booleans_are_no_numbers(self):
        assert matches("flag = TRUE AND other <> TRUE", flag=True, other=False)
        assert not matches("flag = TRUE", flag=1)

    def test_a_boolean_property_is_a_condition(self):
        assert matches("flag AND NOT other", flag=True, other=False)
        assert not matches("flag", flag="TRUE")

    def test_properties_compare_to_each_other(self):
        assert matches("a < b AND c = d", a=1, b=1.5, c="x", d="x")
        assert not matches("a = b", a="1", b=1)
        assert not matches("a < b", a="a", b="b")


class TestUnknown:
    def test_what_is_not_there_makes_no_condition_true(self):
        assert not matches("a = 1")
        assert not matches("NOT a = 1")
        assert not matches("a NOT IN ('x')")
        assert not matches("a NOT LIKE 'x'")
        assert not matches("a NOT BETWEEN 1 AND 2")

    def test_false_and_unknown_is_false(self):
        assert matches("NOT (a = 1 AND b = 1)", b=2)

    def test_true_or_unknown_is_true(self):
        assert matches("a = 1 OR b = 1", b=1)

    def test_unknown_with_anything_else_stays_unknown(self):
        assert not matches("NOT (a = 1 AND b = 1)", b=1)
        assert not matches("NOT (a = 1 OR b = 1)", b=2)

    def test_null_is_asked_for_by_name(self):
        assert matches("a IS NULL AND b IS NOT NULL", b=b"\0")
        assert not matches("a = NULL")


class TestArithmetic:
    def test_products_come_before_sums_and_the_left_before_the_right(self):
        assert matches("2 + 3 * 4 - 4 / 2 = 12 AND 10 - 3 - 2 = 5 AND 24 / 4 / 2 = 3")

    def test_division_of_exact_numbers_is_cut_off_towards_zero(self):
        assert matches("a / 2 = 3 AND -a / 2 = -3 AND a / 2.0 = 3.5", a=7)

    @pytest.mark.parametrize("text", ["a / 0", "a / 0.0", "a * 4611686018427387904", "a + 1e308 * 10", "-b", "a + 'x'"])
    def test_what_has_no_result_is_unknown(self, text):
        if "'" in text:
            assert "expected a number" in problem(f"{text} = 1")
            text = text.replace("'x'", "c")
        assert not matches(f"{text} = 1 OR NOT {text} = 1", a=4, b=-(2**63), c="x")

    def test_signs_can_stand_before_anything(self):
        assert matches("-(a - 3) = +b AND - -a = 1", a=1, b=2)


class TestPredicates:
    def test_between_includes_both_ends(self):
        assert matches("a BETWEEN 1 AND 3 AND b BETWEEN 1 AND 3 AND c NOT BETWEEN 1 AND 3", a=1, b=3, c=4)

    def test_in_is_one_of_several_strings(self):
        assert matches("a IN ('x', 'y') AND b NOT IN ('x', 'y')", a="y", b="z")

    def test_like_knows_any_characters_and_one_character(self):
        assert matches("a LIKE '12%3' AND b LIKE 'l_se' AND c NOT LIKE 'l_se'", a="12993", b="lose", c="loose")

    def test_what_like_knows_can_be_escaped(self):
        assert matches(r"a LIKE '\_%' ESCAPE '\'", a="_foo")
        assert not matches(r"a LIKE '\_%' ESCAPE '\'", a="bar")

    def test_like_takes_signs_of_regular_expressions_for_what_they_are(self):
        assert matches("a LIKE '.*(%'", a=".*(x")
        assert not matches("a LIKE '.%'", a="x")

    def test_like_goes_over_ends_of_lines(self):
        assert matches("a LIKE 'a%z_'", a="a\nz\n")

    def test_not_comes_before_and_and_and_before_or(self):
        assert matches("NOT a = 1 OR a = 1 AND b = 2", a=2)
        assert matches("a = 1 OR a = 2 AND b = 1", a=1)


class TestHostility:
    def test_all_depths_up_to_the_limit_compile(self):
        assert matches("(" * 50 + "a" + ")" * 50, a=True)
        assert matches("NOT " * 50 + "a", a=True)
        assert matches("49 = 0" + " + a" * 49, a=1)
        nested = "a"
        for word in ("AND", "OR") * 24:
            nested = f"(a {word} {nested})"
        assert matches(f"NOT ({nested} AND b)", a=True, b=False)

    def test_many_wildcards_do_not_make_a_pattern_slow(self):
        selector = Selector(f"a LIKE '{'%a' * 1000}%b'")
        view = MessageView(b"")
        view.application = {"a": "a" * 20_000}
        began = time.process_time()
        assert not selector.matches(view)
        assert time.process_time() - began < 1

    def test_long_chains_compile(self):
        text = " OR ".join(f"p{n} = '{n}'" for n in range(600))
        assert matches(text, p599="599")

    def test_a_selector_with_too_many_operands_is_refused(self):
        with pytest.raises(SelectorError, match="expected at most 2000 names and values"):
            Selector(" OR ".join(["a=1"] * 1001))
        with pytest.raises(SelectorError, match="expected at most 2000 names and values"):
            Selector(" OR ".join(["a LIKE '_'"] * 182))
        Selector("a IN (" + ",".join(["'1'"] * 2400) + ")")

    @pytest.mark.parametrize(
        "text", [" OR ".join(["a LIKE '%a_b%'"] * 180), " OR ".join(["a<>b"] * 1000), "a LIKE '%" + "a_" * 4900 + "b%'"]
    )
    def test_the_dearest_selectors_do_not_hold_up_a_message_for_long(self, text):
        selector = Selector(text)
        view = MessageView(b"")
        view.application = {"a": "a" * 32_768, "b": "aaa" + "a" * 32_765}
        began = time.thread_time()
        assert not selector.matches(view)
        assert time.thread_time() - began < 0.5

    def test_strings_that_are_too_long_are_unknown_where_they_would_be_gone_through(self):
        long = "a" * 32_769
        for text in ("a LIKE 'a%'", "a NOT LIKE 'b%'", "a = b", "a <> b"):
            assert not matches(text, a=long, b=long[:-1] + "a")
        assert matches("a = b AND a LIKE 'a%'", a=long[:-1], b=long[1:])
        assert matches("a <> 'x'", a=long)

    def test_strings_and_names_are_never_taken_for_code(self):
        for evil in (
            "' + __import__('os').abort() + '",
            "\\' or __import__('os').abort() #",
            "\n__import__('os').abort()",
        ):
            view = MessageView(b"")
            view.application = {evil: evil}
            assert Selector('"' + evil.replace('"', '""') + "\" = '" + evil.replace("'", "''") + "'").matches(view)


class TestKeeping:
    def test_consumers_with_the_same_text_share_a_selector(self):
        assert selector_for("a = 1") is selector_for("a = 1")

    def test_what_is_kept_has_a_limit(self):
        for number in range(compiling._KNOWN_MOST + 10):
            selector_for(f"a = {number}")
        assert len(compiling._known) <= compiling._KNOWN_MOST

    def test_long_ones_are_not_kept(self):
        text = " OR ".join(["a = 1"] * 200)
        assert selector_for(text) is not selector_for(text)

    def test_a_selector_can_be_pickled(self):
        assert pickle.loads(pickle.dumps(selector_for("a = 1"))).text == "a = 1"


def test_a_selector_costs_a_few_look_ups():
    """As many as a dozen look-ups in a dictionary, each with its call: far less than reading the message."""
    view = MessageView(b"")
    view.application = {"colour": "red", "weight": 3000, "region": "north"}
    selector = selector_for("colour = 'red' AND weight > 2500")
    number = 20_000

    def cost(call):
        began = time.process_time()
        for _ in range(number):
            call()
        return time.process_time() - began

    properties = view.application
    one_look_up = min(cost(lambda: properties.get("colour")) for _ in range(9))
    assert min(cost(lambda: selector.matches(view)) for _ in range(9)) < 12 * one_look_up
