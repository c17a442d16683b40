"""Compiled selectors say what the slow way says, for any selector and any message."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from broker.queues.selectors.slow_selectors import evaluate, is_like, render
from heliograph.broker.queues.message_view import MessageView
from heliograph.broker.queues.selectors import expressions as e
from heliograph.broker.queues.selectors.compiling import Selector
from heliograph.broker.queues.selectors.parsing import parse
from heliograph.common.like_pattern import like_matcher

NAMES = ["a", "b", "colour", "with-hyphen", 'q"uote', "JMS_other"]
TEXTS = st.sampled_from(["", "a", "ab", "aab", "red", "re%d", "it's", "a_b"]) | st.text(max_size=4)
EXACT = st.sampled_from([0, 1, 2, 3, 2**63 - 1, 2**62, 2**53 + 1]) | st.integers(0, 2**63 - 1)
FLOATS = st.sampled_from([0.0, 1.0, 0.5, 1e308, 9.007199254740992e15]) | st.floats(
    0, allow_nan=False, allow_infinity=False
)
PROPERTIES = st.dictionaries(
    st.sampled_from(NAMES),
    TEXTS | EXACT | EXACT.map(lambda n: -n - 1) | st.floats() | st.booleans() | st.binary(max_size=2) | st.none(),
)


def over(*parts):
    return 1 + max(e.depth_of(part) for part in parts)


identifiers = st.sampled_from(NAMES).map(e.Identifier)
numbers = (EXACT | FLOATS).map(e.Literal) | EXACT.map(lambda n: e.Literal(-n - 1))
plain_values = identifiers | numbers
arithmetic = st.recursive(
    plain_values,
    lambda inner: (
        st.builds(lambda o, x, y: e.Arithmetic(o, x, y, over(x, y)), st.sampled_from("+-*/"), inner, inner)
        | inner.filter(lambda v: not isinstance(v, e.Literal)).map(lambda v: e.Negative(v, over(v)))
    ),
    max_leaves=4,
)
any_value = arithmetic | TEXTS.map(e.Literal) | st.sampled_from([True, False, None]).map(e.Literal)


def has_order(operand):
    return not (isinstance(operand, e.Literal) and isinstance(operand.value, str | bool))


ordered = arithmetic | st.just(e.Literal(None))
escapes = st.sampled_from(["", "!", "%", "_", "a"])


def like(identifier, pattern, escape):
    if escape and pattern.replace(escape * 2, "").endswith(escape):
        pattern += "x"
    return e.Like(identifier, pattern, escape)


patterns = st.text("ab%_!", max_size=8) | TEXTS
leaves = (
    st.builds(lambda o, x, y: e.Comparison(o, x, y, over(x, y)), st.sampled_from(["=", "<>"]), any_value, any_value)
    | st.builds(
        lambda o, x, y: e.Comparison(o, x, y, over(x, y)), st.sampled_from(["<", "<=", ">", ">="]), ordered, ordered
    )
    | st.builds(like, identifiers, patterns, escapes)
    | st.builds(e.Among, identifiers, st.lists(TEXTS, min_size=1, max_size=4).map(tuple))
    | identifiers.map(e.IsNull)
    | identifiers
    | st.sampled_from([True, False, None]).map(e.Literal)
)
conditions = st.recursive(
    leaves,
    lambda inner: (
        inner.map(lambda c: e.Not(c, over(c)))
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: e.All(tuple(parts), over(*parts)))
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: e.Any(tuple(parts), over(*parts)))
    ),
    max_leaves=8,
)


def view_of(properties):
    view = MessageView(b"")
    view.application = properties
    return view


@given(conditions)
def test_a_selector_is_read_as_it_was_meant(condition):
    assert parse(render(condition)) == condition


@settings(max_examples=500, deadline=None)
@given(conditions, st.lists(PROPERTIES, min_size=1, max_size=4))
@example(e.Comparison("=", e.Identifier("a"), e.Literal(1), 1), [{"a": True}])
@example(e.Not(e.Comparison("<", e.Identifier("a"), e.Literal(1), 1), 2), [{"a": float("nan")}, {"a": "x"}])
@example(
    e.Comparison("=", e.Arithmetic("/", e.Literal(-7), e.Literal(2), 1), e.Literal(-3), 2),
    [{}],
)
def test_compiled_selectors_agree_with_a_walk_through_the_tree(condition, messages):
    selector = Selector(render(condition))
    for properties in messages:
        assert selector.matches(view_of(properties)) is (evaluate(condition, properties) is True)


@settings(max_examples=500, deadline=None)
@given(st.text("ab%_!", max_size=10), st.text("ab%_", max_size=12), st.sampled_from(["", "!"]))
@example("%a%b", "aab", "")
@example("a%a", "a", "")
@example("%ab%ab", "ab", "")
def test_patterns_agree_with_a_match_letter_by_letter(pattern, text, escape):
    if escape and pattern.replace("!!", "").endswith("!"):
        pattern += "%"
    assert like_matcher(pattern, escape)(text) is is_like(text, pattern, escape)
