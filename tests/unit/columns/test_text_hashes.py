"""Hashes of texts: equal for equal texts, wherever these lie in a column; different for all others."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.columns.text_hashes import text_hashes

TEXTS = st.lists(st.text(max_size=40), min_size=1, max_size=20)


@given(texts=TEXTS, cut=st.integers(0, 19))
def test_a_text_has_one_hash_whatever_is_beside_it(texts: list[str], cut: int) -> None:
    alone = [int(text_hashes(pa.array([text], pa.string()))[0]) for text in texts]
    assert text_hashes(pa.array(texts, pa.string())).tolist() == alone
    assert text_hashes(pa.array(texts, pa.string()).slice(cut)).tolist() == alone[cut:]


@given(texts=TEXTS)
def test_every_type_of_texts_has_the_same_hashes(texts: list[str]) -> None:
    plain = pa.array(texts, pa.string())
    for other in (plain.cast(pa.large_string()), plain.dictionary_encode(), plain.cast(pa.string_view())):
        assert text_hashes(other).tolist() == text_hashes(plain).tolist()


def test_null_is_an_empty_text() -> None:
    found = text_hashes(pa.array(["a", None, "", "b"]))
    assert found[1] == found[2]
    assert len(set(found.tolist())) == 3


@given(texts=st.sets(st.text(max_size=40), max_size=20))
def test_different_texts_have_different_hashes(texts: set[str]) -> None:
    assert len(set(text_hashes(pa.array(sorted(texts), pa.string())).tolist())) == len(texts)


@pytest.mark.parametrize(
    ("one", "other"),
    [("", "\0"), ("a", "a\0"), ("a" * 8, "a" * 9), ("12345678b", "b12345678"), ("a" * 8 + "\0", "a" * 8)],
    ids=["empty", "zero at the end", "full word", "words swapped", "zero in a word of its own"],
)
def test_length_and_order_count(one: str, other: str) -> None:
    first, second = text_hashes(pa.array([one, other], pa.string()))
    assert first != second


@pytest.mark.thorough
def test_a_million_names_have_a_million_hashes() -> None:
    names = pa.array([f"data-6c8d7959-43d4-4c51-8de8-7c2e2fe89b43-{at}.parquet" for at in range(1_000_000)])
    assert len(set(text_hashes(names).tolist())) == len(names)
