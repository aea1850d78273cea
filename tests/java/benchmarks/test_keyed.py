"""The benchmark of keyed tables works, with few rows."""

from __future__ import annotations

import pytest

from against_java import keyed, page

pytestmark = pytest.mark.arctic


def test_both_codecs_have_their_figures() -> None:
    figures = keyed.compare(4000, repeats=1)

    assert figures.startswith("4,000 rows, best of 1, ")
    titles = [line.split(",")[0] for line in figures.splitlines()[4:]]
    assert titles == ["| files of zstd", "| files of gzip"]
    assert figures.count("**") == 4, "a ratio a line"


def test_the_page_has_a_place_for_the_figures() -> None:
    text = page.PAGE.read_text()

    for mark in ("<!-- figures of keyed -->", "<!-- end of figures of keyed -->"):
        assert text.count(mark) == 1
