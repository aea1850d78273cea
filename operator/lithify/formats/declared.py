"""What the adapters declare (`declarations`): read once, joined, and checked.

Called by `resources`, the operator and the commands. Loads the module `declarations` in the folder of each
adapter without its package, which may import libraries that only workers and drivers have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, TypeVar

from lithify.formats.adapters import ADAPTERS, FORMATS
from lithify.formats.declarations import (
    MOST_GROUPS,
    Block,
    Figure,
    FigureValue,
    Format,
    Kind,
    Metastore,
    TriggerGroup,
)

_Named = TypeVar("_Named", Block, TriggerGroup, Metastore)

FigureValues = Mapping[str, FigureValue]
"""The figures of a block by their names."""


@cache
def declared(name: str) -> Format:
    """What the adapter of a format declares; `name` is one of `ADAPTERS`."""
    path = Path(__file__).with_name(ADAPTERS[name].folder or name) / "declarations.py"
    spec = spec_from_file_location(f"{__name__}_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded", path=str(path))
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Format = module.FORMAT
    return found


def format_named(name: str) -> Format | None:
    """What the adapter of a format declares; None if this release has none of that name."""
    return declared(name) if name in ADAPTERS else None


def blocks() -> tuple[Block, ...]:
    """The blocks of figures of all formats on offer."""
    return joined(block for name in FORMATS for block in declared(name).blocks)


def trigger_groups() -> tuple[TriggerGroup, ...]:
    """The groups of triggers of all formats on offer."""
    return joined(group for name in FORMATS for group in declared(name).triggers)


def metastores() -> tuple[Metastore, ...]:
    """The metastores of all formats on offer."""
    return joined(each for name in FORMATS for each in declared(name).metastores)


def joined(found: Iterable[_Named]) -> tuple[_Named, ...]:
    """What several formats declare, once each, by name.

    Raises:
        ValueError: two formats declare different things of one name.
    """
    known: dict[str, _Named] = {}
    for each in found:
        if known.setdefault(each.name, each) != each:
            raise ValueError(f"two formats declare {each.name}, and not the same")
    return tuple(known.values())


def check_blocks(found: Mapping[str, FigureValues]) -> None:
    """Checks that reported blocks are what an adapter has declared, on offer or not.

    Raises:
        ValueError: a block or figure is unknown, a figure is missing, or its value is of another kind.
    """
    for name, values in found.items():
        block = known_blocks().get(name)
        if block is None:
            raise ValueError(f"no format declares figures {name}")
        _check_all(name, block.figures, values)


@cache
def known_blocks() -> Mapping[str, Block]:
    """The blocks of figures of all formats by name, also of those that are not on offer."""
    every = joined(block for name in ADAPTERS for block in declared(name).blocks)
    return {block.name: block for block in every}


def _check_all(name: str, figures: Sequence[Figure], values: FigureValues) -> None:
    names = {figure.name for figure in figures}
    if names != values.keys():
        wrong = ", ".join(sorted(names ^ values.keys()))
        raise ValueError(f"figures {name} are not those declared: {wrong}")
    for figure in figures:
        _check(figure, values[figure.name])


def _check(figure: Figure, value: object) -> None:
    if value is None:
        is_right = figure.may_be_unset
    elif figure.kind is Kind.GROUP:
        is_right = isinstance(value, str)
    elif figure.kind is Kind.GROUPS:
        is_right = _are_groups(value)
    else:
        is_right = isinstance(value, int) and not isinstance(value, bool)
    if not is_right:
        raise ValueError(f"figure {figure.name} is no {figure.kind}: {type(value).__name__}")
    if isinstance(value, tuple):
        for each in value:
            _check_all(figure.name, figure.parts, each)


def _are_groups(value: object) -> bool:
    """Whether a value is a mapping for each of a few groups."""
    if not isinstance(value, tuple) or len(value) > MOST_GROUPS:
        return False
    return all(isinstance(each, Mapping) for each in value)
