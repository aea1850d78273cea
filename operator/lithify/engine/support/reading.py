"""Reads the YAML file of what a format supports. A mistake in it is a ValueError that names its row.

Called by adapters, each for the file in its own room. All scalars are read as text.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from importlib import resources
from typing import Any

import yaml

from lithify.engine.support.rules import Support

Fields = Mapping[str, Any]


def text_of(package: str, name: str) -> str:
    """A file of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def parsed(text: str) -> Any:
    """The values of a file; mappings that name a field twice are refused."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506  # only texts, lists and mappings


def option_rows(groups: object, more: str = "") -> Iterator[tuple[Fields, dict[str, Any]]]:
    """The rows of options, each as it is written and as arguments of an `OptionRule`.

    Args:
        groups: groups of rows, each with its heading.
        more: further fields that rows may have.
    """
    for group in (read_row(each, "group rows") for each in read_rows(groups)):
        for row in read_rows(group["rows"]):
            fields = read_row(row, "keys class why", f"values exact-case {more}")
            yield fields, _rule_fields(str(group["group"]), fields)


def _rule_fields(group: str, fields: Fields) -> dict[str, Any]:
    names, support = read_texts(fields["keys"]), Support(fields["class"])
    values, exact_case = (
        read_texts(fields["values"]) if "values" in fields else (),
        fields.get("exact-case", "false"),
    )
    expect(exact_case in ("true", "false"), f"{names[0]}: exact-case {exact_case}")
    expect(not values or support is not Support.HARMLESS, f"{names[0]}: harmless takes any value")
    return {
        "names": names,
        "group": group,
        "support": support,
        "why": str(fields["why"]),
        "values": values,
        "exact_case": exact_case == "true",
    }


def read_row(value: object, required: str, optional: str = "") -> Fields:
    """A row as a mapping, after checking that it has all required and no unknown fields."""
    mapping = value if isinstance(value, dict) else {}
    missing, allowed = set(required.split()) - set(mapping), {*required.split(), *optional.split()}
    expect(not missing, f"{', '.join(sorted(missing))} missing in {str(value)[:200]}")
    unknown = sorted(set(mapping) - allowed)
    expect(not unknown, f"{', '.join(unknown)} unknown in {str(value)[:200]}")
    return mapping


def read_rows(value: object) -> list[object]:
    """A list that is not empty."""
    expect(isinstance(value, list) and bool(value), f"not a list of rows: {str(value)[:200]}")
    return value if isinstance(value, list) else []


def read_texts(value: object) -> tuple[str, ...]:
    """A list of texts that is not empty."""
    return tuple(str(text) for text in read_rows(value))


def expect(holds: bool, problem: str) -> None:
    """Raises ValueError with a problem if something does not hold."""
    if not holds:
        raise ValueError(problem)


class _Loader(yaml.BaseLoader):
    """Reads every scalar as text and refuses a mapping that names a field twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        names = [key.value for key, _ in node.value]
        expect(len(names) == len(set(names)), f"a field appears twice{node.start_mark}")
        return super().construct_mapping(node, deep)
