"""Random changes to a tree, against a model that is a plain list of names and numbers."""

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.tree import Element, Step

NAMES = st.sampled_from(["a", "b", "c"])
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("append"), NAMES, st.just(0)),
        st.tuples(st.just("insert"), NAMES, st.integers(0, 30)),
        st.tuples(st.just("delete"), NAMES, st.integers(1, 5)),
        st.tuples(st.just("rename"), NAMES, st.integers(0, 30)),
        st.tuples(st.just("ensure"), NAMES, st.integers(1, 6)),
        st.tuples(st.just("step"), NAMES, st.integers(0, 30)),
    ),
    max_size=60,
)


def _change(root: Element, model: list[tuple[str, int]], kind: str, name: str, number: int, fresh: int) -> None:
    count = sum(1 for known, _ in model if known == name)
    if kind == "append":
        root.append(Element(name, fresh))
        model.append((name, fresh))
    elif kind == "insert":
        root.insert(number, Element(name, fresh))
        model.insert(number, (name, fresh))
    elif kind == "delete":
        found = root.nth(name, number)
        assert (found is not None) == (number <= count)
        if found is not None:
            found.delete()
            del model[[at for at, (known, _) in enumerate(model) if known == name][number - 1]]
    elif kind == "rename" and model:
        at = number % len(model)
        root.children[at].set_name(name)
        model[at] = (name, model[at][1])
    elif kind == "ensure":
        made = root.ensure_nth(name, number)
        assert (made is None) == (number > count + 1)
        if made is not None and number == count + 1:
            made.set_value(fresh)
            model.append((name, fresh))
    elif kind == "step" and model:
        at = number % len(model)
        found = root.children[at].next_sibling(Step(name))
        expected = next((entry for entry in model[at + 1 :] if entry[0] == name), None)
        assert (found and (found.name, found.value)) == expected


@settings(max_examples=100, deadline=None)
@given(CHANGES)
def test_look_ups_agree_with_a_plain_list_after_any_changes(changes: list[tuple[str, str, int]]) -> None:
    root, model = Element("root"), []
    for fresh, (kind, name, number) in enumerate(changes):
        _change(root, model, kind, name, number, fresh)
        for asked in "abc":
            expected = [entry for entry in model if entry[0] == asked]
            assert [(child.name, child.value) for child in root.all(asked)] == expected
            assert [(child.name, child.value) for child in root.match_all(Step(asked, None))] == expected
            assert (first := root.first(asked)) is None or (first.name, first.value) == expected[0]
            assert (first is None) == (not expected)
            assert (last := root.last(asked)) is None or (last.name, last.value) == expected[-1]
        assert [(child.name, child.value) for child in root.children] == model
        assert [child.position() for child in root.children] == list(range(len(model)))
