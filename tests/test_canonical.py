import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.canonical import canonical_digest, canonical_json
from engine.errors import InvalidValue

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def test_keys_are_sorted_and_nothing_is_between():
    assert canonical_json({"b": [1, True, None], "a": "é\n"}) == '{"a":"é\\n","b":[1,true,null]}'.encode()
    assert canonical_digest({}) == hashlib.sha256(b"{}").hexdigest()


@given(JSON)
def test_the_bytes_are_the_value(value):
    assert json.loads(canonical_json(value)) == value


@given(JSON, JSON)
def test_different_values_have_different_bytes(one, other):
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (canonical_json(one) == canonical_json(other)) == same


@given(st.text(st.characters(exclude_categories=())))
def test_file_names_that_are_not_unicode_survive(text):
    data = canonical_json([text])
    data.decode("utf-8")
    assert json.loads(data)[0] == json.loads(json.dumps(text))


def test_tuples_count_as_lists():
    assert canonical_json((1, ("a",))) == canonical_json([1, ["a"]])


@pytest.mark.parametrize("value", [1.0, float("nan"), b"x", {1: 2}, {"a": 0.5}, [object()], {"a", "b"}])
def test_what_has_no_canonical_form_is_refused(value):
    with pytest.raises(InvalidValue):
        canonical_json(value)
