"""Each sentence of docs/security.md promises nothing, or names the tests that prove it.

`security_claims.yaml` has a phrase of each sentence. Whoever changes what a sentence says looks at its tests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "security.md"
CLAIMS: dict[str, str | list[str]] = yaml.safe_load(
    (Path(__file__).parent / "security_claims.yaml").read_text(encoding="utf-8")
)
WITHOUT_PROMISE = {"advice", "limit", "context"}
"""What the reader should do, what is not protected, and what other words and programs mean."""
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_BLOCK_START = re.compile(r"- |\d+\. |#")
_SENTENCE_END = re.compile(r"(?<=\.)\**\s+(?=[A-Z*`\[])")
_FEWEST_WORDS = 4
"""Shorter texts are heads of tables and names."""


def blocks(text: str) -> Iterator[str]:
    """Paragraphs, items of lists and cells of tables, each on one line; headings are left out."""
    block: list[str] = []
    for line in [*_CODE.sub("", text).splitlines(), ""]:
        if not line.strip() or line.startswith("|") or _BLOCK_START.match(line.strip()):
            yield " ".join(block)
            block = []
        if line.startswith("|"):
            yield from (cell.strip() for cell in line.strip("|").split(" | "))
        elif line.strip() and not line.startswith("#"):
            block.append(line.strip())


def sentences(text: str) -> list[str]:
    """All sentences that may promise something."""
    found = [one for block in blocks(text) for one in _SENTENCE_END.split(block)]
    return [one for one in found if len(one.split()) >= _FEWEST_WORDS]


@cache
def functions_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, functions))


SENTENCES = sentences(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("sentence", SENTENCES)
def test_each_sentence_is_known(sentence: str) -> None:
    assert any(phrase in sentence for phrase in CLAIMS), (
        f"no phrase in security_claims.yaml is in: {sentence}"
    )


@pytest.mark.parametrize("phrase", CLAIMS)
def test_each_phrase_stands_for_one_sentence(phrase: str) -> None:
    assert sum(phrase in sentence for sentence in SENTENCES) == 1


@pytest.mark.parametrize("phrase", CLAIMS)
def test_each_promise_has_tests(phrase: str) -> None:
    proof = CLAIMS[phrase]
    if isinstance(proof, str):
        assert proof in WITHOUT_PROMISE
        return
    assert proof
    for one in proof:
        path, _, name = one.partition("::")
        assert name.startswith("test_")
        assert name in functions_in(TESTS / path), f"there is no test {one}"


def test_sentences_are_found_wherever_they_stand() -> None:
    text = "# A heading of four words\n\nOne. **Two is here.** Another\n`one` is here:\n\n"
    items = "- An item\n  of lists\n"
    code = "```yaml\nthis is no sentence\n```\n"
    table = "| head | other |\n|---|---|\n| A cell with text | more of such text. [A](link) is the end |\n"
    assert sentences(text + items + code + table) == [
        "Another `one` is here:",
        "- An item of lists",
        "A cell with text",
        "more of such text.",
        "[A](link) is the end",
    ]
