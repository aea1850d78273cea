"""Links in the pages lead somewhere, and files that they name are there."""

from __future__ import annotations

import re

import pytest

from support.pages import CURRENT, PAGES, README, ROOT, Page

_ELSEWHERE = re.compile(r"^[a-z]+:")
_TOP = "charts|crds|docs|examples|operator|spark-images|tests"
_MADE = "examples/.lithify"
"""What `lithify watch` writes."""
_FILE = re.compile(rf"(?:\./)?((?:{_TOP})/[\w./-]*|[A-Z]+\.md|Makefile|pyproject\.toml|uv\.lock)")
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
each_current = pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.name)


def dead_links(page: Page) -> list[str]:
    """The links of a page that lead nowhere; addresses of other sites are not asked."""
    return [link for link in page.links if not _ELSEWHERE.match(link) and not _leads(page, link)]


def absent_files(page: Page) -> list[str]:
    """The paths of this repository that a page names as code, and that are not there."""
    found = (_FILE.fullmatch(span) for span in page.spans if not span.startswith(_MADE))
    return [path[1] for path in found if path is not None and not (ROOT / path[1]).exists()]


def _leads(page: Page, link: str) -> bool:
    place, _, heading = link.partition("#")
    target = (page.path.parent / place).resolve() if place else page.path
    return target.exists() and (not heading or heading in Page.read(target).anchors)


def replaced(page: Page, prose: str) -> Page:
    """A page in the same place that says something else."""
    return Page(page.path, prose)


@each_page
def test_links_lead_somewhere(page: Page) -> None:
    assert dead_links(page) == []


@each_current
def test_pages_name_only_files_that_exist(page: Page) -> None:
    assert absent_files(page) == []


def test_the_readme_leads_to_every_page() -> None:
    pages = {page.name for page in PAGES if page.path.parent in {ROOT, ROOT / "docs"}}
    assert pages - {README.name} == {link for link in README.links if link.endswith(".md")}


@pytest.mark.parametrize(
    "link",
    ["docs/nowhere.md", "docs/operator.md#no-such-heading", "#no-such-heading"],
    ids=["a page", "a heading of another page", "a heading of its own"],
)
def test_a_dead_link_is_noticed(link: str) -> None:
    text = f"[so](docs/operator.md#pod-templates), [so](#quick-start), [this]({link})\n"
    assert dead_links(replaced(README, text)) == [link]


def test_an_absent_file_is_noticed() -> None:
    assert absent_files(replaced(README, "`docs/operator.md`, `crds/`, `docs/gone.md`\n")) == ["docs/gone.md"]
