"""Texts from outside lose what steers terminals and hides other text, and keep everything else."""

from __future__ import annotations

import json
import unicodedata
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.plain_text import json_escaped, plain_line, plain_lines
from support.cases import case

ANY = st.text(st.characters(), max_size=60) | st.text(
    st.sampled_from("ab \t\n\r\x00\x1b[31m\x7f\x9b\u202e\u2066\u2028\ufeff\ud800\U000e0041…"), max_size=60
)
REFUSED_CATEGORIES = {"Cc", "Cs", "Zl", "Zp"}
BIDIRECTIONAL = {"RLE", "LRE", "PDF", "RLO", "LRO", "RLI", "LRI", "FSI", "PDI"}
LIMITS = st.integers(0, 80)


def is_refused(letter: str) -> bool:
    return (
        unicodedata.category(letter) in REFUSED_CATEGORIES
        or unicodedata.bidirectional(letter) in BIDIRECTIONAL
        or letter in "\u200e\u200f\u061c"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        case("sales.orders: 9 sorted runs → 1", "sales.orders: 9 sorted runs → 1", id="an ordinary message"),
        case("dt=2026-01-01/名前=Jörg", "dt=2026-01-01/名前=Jörg", id="names in other scripts"),
        case("می\u200cخواهم 👩\u200d👧", "می\u200cخواهم 👩\u200d👧", id="joiners"),
        case("\x1b[2J\x1b[31mgone", r"\x1b[2J\x1b[31mgone", id="ANSI sequences"),
        case("\x1b]0;title\x07", r"\x1b]0;title\x07", id="the title of a window"),
        case("\x9b31m", r"\x9b31m", id="the one-byte form of the same"),
        case("a\u202egnp.exe", r"a\u202egnp.exe", id="an override of the direction"),
        case("one\n  Ready: True\r\ttwo", "one Ready: True two", id="lines that look like more conditions"),
        case("a\u2028b\u2029c\x85d", "a b c d", id="other line separators"),
        case("a\x00b\x7fc", r"a\x00b\x7fc", id="NUL and DEL"),
        case("x\ud800y", r"x\ud800y", id="half of a surrogate pair"),
        case("pay\u200bload\U000e0041", r"pay\u200bload\U000e0041", id="invisible characters"),
    ],
)
def test_texts_become_one_plain_line(text: str, shown: str) -> None:
    assert plain_line(text, 200) == shown


@given(ANY, LIMITS)
def test_a_line_is_within_its_bound_plain_and_stays_so(text: str, limit: int) -> None:
    shown = plain_line(text, limit)
    assert len(shown) <= limit
    assert not any(is_refused(letter) for letter in shown)
    assert plain_line(shown, limit) == shown
    shown.encode()


@given(ANY)
def test_lines_keep_their_breaks_and_nothing_else_that_is_refused(text: str) -> None:
    shown = plain_lines(text)
    assert shown.count("\n") == text.count("\n")
    assert not any(is_refused(letter) for letter in shown if letter not in "\n\t")
    assert plain_lines(shown) == shown


@given(ANY)
def test_json_says_the_same_without_them(text: str) -> None:
    written = json_escaped(json.dumps({"a": text}, ensure_ascii=False))
    assert json.loads(written) == {"a": text}
    assert not any(is_refused(letter) for letter in written)


def test_a_cut_is_told_of() -> None:
    assert plain_line("abcdef", 4) == "abc…"
    assert plain_line("a" + "\n" * 100, 10) == "a …"


@pytest.mark.thorough
@pytest.mark.parametrize("piece", [" ", "\n ", "\x1b", "a\u2028", "\ud800"])
def test_a_megabyte_takes_no_time(piece: str) -> None:
    text = piece * ((1 << 20) // len(piece))
    started = process_time()
    plain_line(text, 1024)
    assert process_time() - started < 0.1
    plain_lines(text)
    json_escaped(text)
    assert process_time() - started < 10
