"""Partial updates in plain Python: record after record, oldest first, as Paimon adds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lithify.formats.paimon.options.merging.partial_update import Retractions
from lithify.formats.paimon.primary_key.merge_functions.partial_update import PartialUpdate

Row = dict[str, Any]
DELETE, RETRACTING = 3, (1, 3)
SEQUENCE, KIND = "_SEQUENCE_NUMBER", "_VALUE_KIND"


class Function(Protocol):
    """An aggregate function and its state."""

    def add(self, total: Any, value: Any) -> Any: ...

    def take_back(self, total: Any, value: Any) -> Any: ...


class Sum:
    def add(self, total: Any, value: Any) -> Any:
        return value if total is None else total if value is None else total + value

    def take_back(self, total: Any, value: Any) -> Any:
        return self.add(total, None if value is None else -value)


class Greatest:
    def add(self, total: Any, value: Any) -> Any:
        return max((each for each in (total, value) if each is not None), default=None)

    def take_back(self, total: Any, value: Any) -> Any:
        raise NotImplementedError


class Last:
    def add(self, total: Any, value: Any) -> Any:
        return value

    def take_back(self, total: Any, value: Any) -> Any:
        return None


class LastThere:
    def add(self, total: Any, value: Any) -> Any:
        return total if value is None else value

    def take_back(self, total: Any, value: Any) -> Any:
        return total if value is None else None


class First:
    def __init__(self) -> None:
        self._has_begun = False

    def add(self, total: Any, value: Any) -> Any:
        total, self._has_begun = (total if self._has_begun else value), True
        return total

    def take_back(self, total: Any, value: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Model:
    """What one merge function should do; `functions` are the classes of its aggregated columns."""

    function: PartialUpdate
    functions: Mapping[str, type[Function]]

    def __call__(self, records: Sequence[Row]) -> Row:
        """The one record that the records of a key become."""
        return _Merge(self).of(records)


class _Merge:
    def __init__(self, model: Model) -> None:
        self._function = model.function
        self._functions = {name: function() for name, function in model.functions.items()}
        self._row: Row = {}
        self._removed = False

    def of(self, records: Sequence[Row]) -> Row:
        has_insert, number = False, 0
        for record in records:
            self._removed = False
            retracts = record[KIND] in RETRACTING
            if retracts and not self._row:
                self._row = dict(record)
            if not self._row:
                self._row = dict.fromkeys(record)
            if retracts and self._function.retractions is Retractions.IGNORED:
                continue
            number = record[SEQUENCE]
            if retracts:
                self._retract(record)
            else:
                has_insert = True
                self._update(record)
        kind = DELETE if self._removed or not has_insert else 0
        fixed = {name: value for name, value in records[-1].items() if name.startswith("k")}
        return {**self._row, **fixed, SEQUENCE: number, KIND: kind}

    def _update(self, record: Row) -> None:
        for name in self._function.plain:
            if record[name] is not None:
                self._row[name] = record[name]
        for group in self._function.groups:
            if not self._changes(record, group.fields):
                continue
            is_late = self._is_late(record, group.fields)
            for name in group.aggregates:
                pair = (self._row[name], record[name])
                self._row[name] = self._functions[name].add(*(reversed(pair) if is_late else pair))
            if not is_late:
                self._row.update({name: record[name] for name in (*group.fields, *group.columns)})

    def _retract(self, record: Row) -> None:
        is_delete = record[KIND] == DELETE
        current = [g for g in self._function.groups if self._is_current(record, g.fields)]
        removes = any(group.removes for group in current) and is_delete
        if removes or (self._function.retractions is Retractions.REMOVE and is_delete):
            self._row, self._removed = dict(record), True
            return
        for group in self._function.groups:
            if self._changes(record, group.fields):
                for name in group.aggregates:
                    self._row[name] = self._functions[name].take_back(self._row[name], record[name])
        for group in current:
            self._row.update(dict.fromkeys(group.columns))
            self._row.update({name: record[name] for name in group.fields})

    def _is_current(self, record: Row, fields: Sequence[str]) -> bool:
        return self._changes(record, fields) and not self._is_late(record, fields)

    @staticmethod
    def _changes(record: Row, fields: Sequence[str]) -> bool:
        return any(record[name] is not None for name in fields)

    def _is_late(self, record: Row, fields: Sequence[str]) -> bool:
        theirs, ours = ([(row[n] is not None, row[n] or 0) for n in fields] for row in (record, self._row))
        return theirs < ours
