"""The page that people are sent to has a section for every STATUS, and names fields that there are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from lithify.resources.compaction import Reason

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
SECTION = re.compile(r"^### (\w+)$", re.MULTILINE)
LINK = re.compile(r"\]\(#([\w-]+)\)")
FIELD = re.compile(r"(?:`|\{|[=:,]|range )\.?((?:spec|status)\.[A-Za-z0-9.]*[A-Za-z0-9])")


def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def anchor(heading: str) -> str:
    """Where a link leads, as GitHub has it."""
    return heading.lower().replace(" ", "-")


@cache
def schemas() -> list[Mapping[str, Any]]:
    """Those of our kinds."""
    files = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "crds").glob("*.yaml")))
    definitions = [yaml.load(text, Loader=yaml.CSafeLoader) for text in files]
    return [
        version["schema"]["openAPIV3Schema"] for each in definitions for version in each["spec"]["versions"]
    ]


def has(schema: Mapping[str, Any], path: str) -> bool:
    """Whether objects of a schema may have a field."""
    for name in path.split("."):
        schema = schema.get("items", schema).get("properties", {}).get(name)
        if schema is None:
            return False
    return True


def test_every_status_has_a_section() -> None:
    headings = SECTION.findall(text())

    assert len(headings) == len(set(headings))
    assert {reason.value for reason in Reason} <= set(headings)


def test_links_within_the_page_lead_somewhere() -> None:
    assert set(LINK.findall(text())) <= {anchor(heading) for heading in HEADING.findall(text())}


def test_fields_on_the_page_are_fields_of_resources() -> None:
    known, fields = schemas(), set(FIELD.findall(text()))
    assert len(fields) > 30
    assert [field for field in sorted(fields) if not any(has(schema, field) for schema in known)] == []


def test_a_wrong_field_is_noticed() -> None:
    known = schemas()
    assert any(has(schema, "status.attemptHistory.reason") for schema in known)
    assert not any(has(schema, "status.attemptHistory.cause") for schema in known)
