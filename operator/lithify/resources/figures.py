"""The parts of resources that formats declare: blocks of figures in status, groups of triggers in policies.

Used by `table` and `policy`, which have a field for each, and by what reads or makes them by name. Whether a
value is what was declared is checked where it comes from (`formats.declared.check_blocks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import GenericAlias
from typing import Any, TypeVar

from pydantic import Field

from lithify.formats.declarations import MOST_GROUPS, Block, Figure, FigureValue, Kind, Trigger, TriggerGroup
from lithify.formats.declared import FigureValues, blocks, trigger_groups
from lithify.resources.modelling import part
from lithify.resources.quantities import LARGEST, Quantity

GROUP_LENGTH = 1024
"""Maximum length of a group's path in status."""
BLOCKS = blocks()
TRIGGER_GROUPS = trigger_groups()

Part = TypeVar("Part")
_Fields = Mapping[str, tuple[Any, Any]]
"""Types and fields by name."""


def with_blocks(kind: type[Part]) -> type[Part]:
    """Gives a class of figures a field for each declared block; applied before `part`."""
    fields = {
        block.name: (
            _PARTS[block.name] | None,
            Field(default=None, alias=block.name, description=block.description),
        )
        for block in BLOCKS
    }
    return _with(kind, fields)


def with_trigger_groups(kind: type[Part]) -> type[Part]:
    """Gives a class a field for each declared group of triggers; applied before `part`."""
    fields = {}
    for group in TRIGGER_GROUPS:
        made = _trigger_part(group)
        field = Field(default=made(), alias=group.name, description=group.description)
        fields[group.name] = (made, field)
    return _with(kind, fields)


def blocks_of(values: Mapping[str, FigureValues]) -> dict[str, Any]:
    """The fields of observed blocks, within the bounds of status; without those of formats not on offer."""
    return {
        block.name: _PARTS[block.name](**_bounded(block.figures, values[block.name]))
        for block in BLOCKS
        if block.name in values
    }


def figures_in(summary: object) -> Iterator[tuple[Block, Figure, int | str]]:
    """The figures of a summary's blocks, as far as it has them, without those of several groups."""
    for block, figure, value in _values_in(summary):
        if figure.kind is not Kind.GROUPS:
            yield block, figure, value


def groups_in(summary: object) -> Iterator[str]:
    """The paths of all groups that a summary's blocks name."""
    for _, figure, value in _values_in(summary):
        entries = value if figure.kind is Kind.GROUPS else ()
        named = [(each, getattr(entry, each.name)) for entry in entries for each in figure.parts]
        yield from (path for each, path in [(figure, value), *named] if each.kind is Kind.GROUP)


def _values_in(summary: object) -> Iterator[tuple[Block, Figure, Any]]:
    for block in BLOCKS:
        found = getattr(summary, block.name, None)
        for figure in block.figures if found is not None else ():
            value = getattr(found, figure.name)
            if value is not None:
                yield block, figure, value


def triggers_in(triggers: object, groups: Iterable[TriggerGroup]) -> Iterator[tuple[Trigger, int | str]]:
    """The triggers of some groups that a policy sets."""
    for group in groups:
        for trigger in group.triggers:
            value = getattr(getattr(triggers, group.name), trigger.name)
            if value is not None:
                yield trigger, value


def _with(kind: type[Part], fields: _Fields) -> type[Part]:
    for name, (annotation, field) in fields.items():
        kind.__annotations__[name] = annotation
        setattr(kind, name, field)
    return kind


def _made(name: str, doc: str, fields: _Fields) -> type[Any]:
    """A part with these fields, whose names in Python are those in JSON."""
    bare = type(name, (), {"__doc__": doc, "__module__": __name__, "__annotations__": {}})
    return part()(_with(bare, fields))


def _figures_part(name: str, doc: str, figures: Iterable[Figure]) -> type[Any]:
    return _made(_capital(name), doc, {figure.name: _figure_field(figure) for figure in figures})


def _figure_field(figure: Figure) -> tuple[Any, Any]:
    description = figure.description
    if figure.kind is Kind.GROUPS:
        part_of_each = _figures_part(f"{figure.name}Entry", f"An entry of {figure.name}.", figure.parts)
        return GenericAlias(tuple, (part_of_each, ...)), Field(
            default=(), alias=figure.name, description=description, max_length=MOST_GROUPS
        )
    if figure.kind is Kind.GROUP:
        return str | None, Field(
            default=None, alias=figure.name, description=description, max_length=GROUP_LENGTH
        )
    if figure.is_optional:
        return int | None, Field(default=None, alias=figure.name, description=description, ge=0)
    return int, Field(default=0, alias=figure.name, description=description, ge=0)


def _bounded(figures: Iterable[Figure], values: FigureValues) -> dict[str, Any]:
    """Values that the schema takes."""
    return {figure.name: _bounded_value(figure, values[figure.name]) for figure in figures}


def _bounded_value(figure: Figure, value: FigureValue) -> Any:
    if isinstance(value, tuple):
        return tuple(_bounded(figure.parts, each) for each in value[:MOST_GROUPS])
    if isinstance(value, str):
        return value[:GROUP_LENGTH]
    return None if value is None else max(0, min(LARGEST, value))


def _trigger_part(group: TriggerGroup) -> type[Any]:
    fields = {trigger.name: _trigger_field(trigger) for trigger in group.triggers}
    return _made(f"{_capital(group.name)}Triggers", group.description, fields)


def _trigger_field(trigger: Trigger) -> tuple[Any, Any]:
    name, description = trigger.name, trigger.description
    if trigger.is_size:
        return Quantity | None, Field(default=None, alias=name, description=description)
    least, most = trigger.minimum, trigger.maximum
    return int | None, Field(default=None, alias=name, description=description, ge=least, le=most)


def _capital(name: str) -> str:
    return f"{name[0].upper()}{name[1:]}"


_PARTS = {
    block.name: _figures_part(f"{block.name}Figures", f"Figures of {block.tables}.", block.figures)
    for block in BLOCKS
}
