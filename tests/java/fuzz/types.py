"""Column types as histories have them: made of parts that schema changes can reach by a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Atom:
    """A type without parts, and those that the column had before it."""

    name: str
    earlier: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Array:
    """A list."""

    element: Type

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map:
    """A map; no change reaches its key."""

    key: str
    value: Type

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Record:
    """A row of named fields."""

    fields: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        return f"ROW<{', '.join(f'{name} {kind}' for name, kind in self.fields)}>"


@dataclass(frozen=True, slots=True)
class Required:
    """A part that is never null."""

    part: Type

    def __str__(self) -> str:
        return f"{self.part} NOT NULL"


Type: TypeAlias = Atom | Array | Map | Record | Required
Path: TypeAlias = tuple[str, ...]


def parts(kind: Type, path: Path = ()) -> Iterator[tuple[Path, Type]]:
    """The type and all that changes can reach in it, each with the path that leads to it."""
    if isinstance(kind, Required):
        yield from parts(kind.part, path)
        return
    yield path, kind
    match kind:
        case Array(element):
            yield from parts(element, (*path, "element"))
        case Map(_, value):
            yield from parts(value, (*path, "value"))
        case Record(fields):
            for name, part in fields:
                yield from parts(part, (*path, name))


def with_part(kind: Type, path: Path, change: Callable[[Type], Type]) -> Type:
    """The type with one of its parts changed."""
    if isinstance(kind, Required):
        return Required(with_part(kind.part, path, change))
    if not path:
        return change(kind)
    step, *rest = path
    match kind:
        case Array(element):
            return Array(with_part(element, tuple(rest), change))
        case Map(_, value):
            return replace(kind, value=with_part(value, tuple(rest), change))
        case Record(fields):
            changed = ((n, with_part(p, tuple(rest), change) if n == step else p) for n, p in fields)
            return Record(tuple(changed))
    raise KeyError(path)
