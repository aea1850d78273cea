"""Random schema changes, of whole columns and of parts of nested ones, that Java allows and converts."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from java.fuzz.history import Change
from java.fuzz.types import Array, Atom, Map, Record, Required, Type, parts, with_part
from lithify.files.casting import cast_between
from lithify.formats.paimon.schema.type_texts import parse_type

_VECTORS = ("VECTOR<FLOAT, 3>", "VECTOR<DOUBLE NOT NULL, 2>", "VECTOR<INT, 4>", "VECTOR<BOOLEAN, 9>")
_NAMES = ("C {}", "ü{}", "a-{}#", "{}", "Key{}")


class Columns:
    """The columns of a table as they are by now.

    Attributes:
        now: the value columns.
        keys: the names of the key columns.
        fixed: the names of sequence fields.
        pinned: those that options refer to, which Java does not follow when they are renamed.
        merged: whether values of several rows are merged. Java keeps nested values while its readers use the
            same objects for the next row if they convert them, so these are not changed then.
    """

    def __init__(self, random: Random, atoms: Sequence[str], formats: Sequence[str]) -> None:
        self._random = random
        self._atoms = atoms
        self._has_multisets = [*formats] == ["parquet"]
        self._only_avro = [*formats] == ["avro"]
        # What becomes a CHAR is padded; Java trims it again as soon as it stands in an ORC file.
        self._never = ("CHAR(4)",) if "orc" in formats else ()
        self._names = 0
        # Avro knows no others.
        self._name = random.choice(["c{}", "c{}", *([] if "avro" in formats else _NAMES)])
        if "orc" in formats and self._name == "{}":
            self._name = "n{}"  # in filters, the Java library of ORC takes digits for the number of a column
        self._dropped: list[str] = []
        self.now: dict[str, Type] = {}
        self.keys: list[str] = []
        self.fixed: set[str] = set()
        self.pinned: set[str] = set()
        self.merged = False

    def add(self, kind: str | None = None) -> str:
        """Adds a column of this or any type; returns its name, which may be that of one that was dropped."""
        again = self._dropped and self._random.random() < 0.5
        name = self._dropped.pop() if again else self._fresh()
        self.now[name] = Atom(kind) if kind else self._type()
        return name

    def add_no_multisets(self) -> None:
        """From here on: Java's writers of Avro files know only some."""
        self._has_multisets = False

    def add_only_what_lookups_take(self) -> None:
        """From here on."""
        self._has_multisets = self._only_avro = False

    def _fresh(self) -> str:
        self._names += 1
        return self._name.format(self._names)

    def _type(self, depth: int = 0) -> Type:
        draw = self._random.random()
        if self._only_avro and not depth and self._random.random() < 0.2:
            return Atom(self._random.choice(_VECTORS))
        if draw < 0.6 + 0.2 * depth:
            return Atom(self._random.choice(self._atoms))
        if draw < 0.8:
            return Array(self._part(depth + 1))
        if draw < 0.9:
            key = self._random.choice(["STRING", "INT NOT NULL", "DATE"])
            if self._has_multisets and self._random.random() < 0.2:
                return Atom(f"MULTISET<{key}>")
            return Map(key, self._part(depth + 1))
        fields = (self._fresh().replace(" ", "") for _ in range(self._random.randint(1, 3)))
        return Record(tuple((name, self._part(depth + 1)) for name in fields))

    def _part(self, depth: int) -> Type:
        """A type within another one, which may forbid nulls."""
        part = self._type(depth)
        return Required(part) if self._random.random() < 0.1 else part

    def change(self) -> Change:
        """One change to the columns; sequence fields only change their names and places."""
        free = [name for name in self.now if name not in self.fixed | self.pinned]
        if self.merged:
            free = [name for name in free if isinstance(self.now[name], Atom)]
        nested = [name for name in free if not isinstance(self.now[name], Atom)]
        changes = [self._add_column, self._move]
        if free:
            changes += [self._change_type, self._change_type, self._rename, self._drop]
        if nested:
            changes += [self._change_record, self._change_record]
        if self._random.random() < 0.1 and not self.pinned:
            changes = [self._rename_fixed]
        return self._random.choice(changes)(nested or free)

    def _add_column(self, names: Sequence[str]) -> Change:
        name = self.add()
        column = {"name": name, "type": str(self.now[name])}
        return {"add_column": {**column, "first": True} if self._random.random() < 0.3 else column}

    def _drop(self, names: Sequence[str]) -> Change:
        name = self._random.choice(names)
        del self.now[name]
        self._dropped.append(name)
        return {"drop_column": name}

    def _rename(self, names: Sequence[str]) -> Change:
        name, renamed = self._random.choice(names), self._fresh()
        self.now[renamed] = self.now.pop(name)
        return {"rename_column": [name, renamed]}

    def _rename_fixed(self, names: Sequence[str]) -> Change:
        """A key column or one that an option refers to gets another name, and options that of it."""
        name, renamed = self._random.choice([*self.keys, *sorted(self.fixed)]), self._fresh()
        if name in self.keys:
            self.keys[self.keys.index(name)] = renamed
        else:
            self.fixed ^= {name, renamed}
            self.now[renamed] = self.now.pop(name)
        return {"rename_column": [name, renamed]}

    def _move(self, names: Sequence[str]) -> Change:
        name = self._random.choice([*self.now, *self.keys[1:], *self.keys])
        if name == self.keys[0] or self._random.random() < 0.3:
            others = [other for other in (*self.now, *self.keys) if other != name]
            if not others:
                return self._add_column(names)
            return {"move": {"name": name, "after": self._random.choice(others)}}
        return {"move": {"name": name, "after": self.keys[0]}}

    def _change_type(self, names: Sequence[str]) -> Change:
        """A leaf becomes of another type; a new column comes instead where nothing can be done."""
        leaves = [
            (name, path, kind)
            for name in names
            for path, kind in parts(self.now[name])
            if isinstance(kind, Atom) and self._targets(kind)
        ]
        if not leaves:
            return self._add_column(names)
        name, path, leaf = self._random.choice(leaves)
        target = Atom(self._random.choice(self._targets(leaf)), (*leaf.earlier, leaf.name))
        self.now[name] = with_part(self.now[name], path, lambda _: target)
        return {"update_type": [".".join((name, *path)), target.name]}

    def _targets(self, leaf: Atom) -> list[str]:
        sources = (*leaf.earlier, leaf.name)
        if leaf.name.startswith(("MULTISET", "VECTOR")):
            return []
        targets = (kind for kind in self._atoms if kind not in (*sources, *self._never))
        return [kind for kind in targets if all(_converts(old, kind) for old in sources)]

    def _change_record(self, names: Sequence[str]) -> Change:
        """A field of a nested row is added, dropped or renamed."""
        records = [
            (name, path, kind)
            for name in names
            for path, kind in parts(self.now[name])
            if isinstance(kind, Record)
        ]
        if not records:
            return self._change_type(names)
        name, path, record = self._random.choice(records)
        field = self._random.choice(record.fields)[0]
        which = self._random.choice(
            ["add", "rename", "drop"] if len(record.fields) > 1 else ["add", "rename"]
        )
        within = ".".join((name, *path))
        if which == "drop":
            fields = tuple(pair for pair in record.fields if pair[0] != field)
            change: Change = {"drop_column": f"{within}.{field}"}
        elif which == "rename":
            renamed = self._fresh()
            fields = tuple((renamed if pair[0] == field else pair[0], pair[1]) for pair in record.fields)
            change = {"rename_column": [f"{within}.{field}", renamed]}
        else:
            added, kind = self._fresh(), self._type(depth=1)
            fields = (*record.fields, (added, kind))
            change = {"add_column": {"name": f"{within}.{added}", "type": str(kind)}}
        self.now[name] = with_part(self.now[name], path, lambda _: Record(fields))
        return change


def _converts(old: str, newest: str) -> bool:
    """Whether Java converts every value of the old type to the newest, and we do, too."""
    before, after = parse_type(old), parse_type(newest)
    if after.root == "DECIMAL" and (newest != "DECIMAL(38, 10)" or before.root in ("FLOAT", "DOUBLE")):
        return False
    return cast_between(before, after) is not None
