"""The page that people are sent to has a section for every STATUS."""

from __future__ import annotations

import re
from pathlib import Path

from lithify.resources.compaction import Reason

PAGE = Path(__file__).parents[2] / "docs" / "troubleshooting.md"
HEADING = re.compile(r"^### (\w+)$", re.MULTILINE)
LINK = re.compile(r"\]\(#(\w+)\)")


def test_every_status_has_a_section() -> None:
    headings = HEADING.findall(PAGE.read_text(encoding="utf-8"))

    assert len(headings) == len(set(headings))
    assert {reason.value for reason in Reason} <= set(headings)


def test_links_within_the_page_lead_somewhere() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert set(LINK.findall(text)) <= {heading.lower() for heading in HEADING.findall(text)}
