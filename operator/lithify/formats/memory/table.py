"""An open reference table: its definition, snapshots and files, and who it is.

Made by `open_table`; `planning`, `step`, `remains` and `observing` work on it. Knows no run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

from lithify.engine.attempts.journal import Journal
from lithify.errors import CorruptTable, InvalidOption, NotFound, UnsupportedTable
from lithify.formats.memory.scope import MemoryJournal, Scopes
from lithify.formats.memory.snapshot import DataFile, Group, Snapshot, parse_snapshot, to_json
from lithify.formats.protocol.address import TableAddress
from lithify.io.file_names import is_file_name
from lithify.io.local_storage import local_storage
from lithify.io.locations import local_path
from lithify.io.storage import Storage
from lithify.settings import TABLE

SMALL_FILE_SIZE = "small-file-size"
_KNOWN_OPTIONS = frozenset({SMALL_FILE_SIZE})
_DEFAULT_SMALL = 128 << 20


class MemoryTable:
    """A table.

    Attributes:
        name: `namespace.table`; a namespace has one level or more.
        uuid: distinguishes the table from others of its name.
        storage: access to its files.
        journal: records the attempts at it.
        small_file_size: bytes below which a file is small.

    Args:
        name: `namespace.table`; a namespace has one level or more.
        folder: its folder.
        storage: access to its files.
        definition: its definition, as stored.
        overrides: options that replace the stored ones.
    """

    def __init__(
        self,
        name: str,
        folder: str,
        storage: Storage,
        definition: Mapping[str, object],
        overrides: Mapping[str, str],
    ) -> None:
        self.name = name
        self.uuid = str(definition["uuid"])
        self.storage = storage
        self.journal: MemoryJournal = Journal(folder, storage, Scopes())
        self._folder = folder
        stored = definition["options"]
        self._options = {**(stored if isinstance(stored, dict) else {}), **overrides}
        self.small_file_size = self._size()

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why this release cannot compact the table, one sentence per option that it does not know."""
        return tuple(f"option {name} is not known" for name in sorted(self._options.keys() - _KNOWN_OPTIONS))

    def check_supported(self) -> None:
        """Checks that the table has only known options.

        Raises:
            UnsupportedTable: it has another one.
        """
        if self.refusals:
            raise UnsupportedTable(self.name, self.refusals)

    def check_writable(self) -> None:
        """Does nothing: local file systems create a file once."""

    def latest(self) -> Snapshot | None:
        """The newest snapshot; None if there is none."""
        while numbers := self.numbers():
            found = self.snapshot(numbers[-1])
            if found is not None:  # else it was rolled back after the listing
                return found
        return None

    def numbers(self) -> list[int]:
        """The numbers of all snapshots, in order."""
        names = (name.removesuffix(".json") for name in self.storage.names_in(f"{self._folder}/snapshots"))
        return sorted(int(name) for name in names if name.isdecimal())

    def snapshot(self, number: int) -> Snapshot | None:
        """A snapshot; None if there is none of this number.

        Raises:
            CorruptTable: it cannot be read.
        """
        path = self.snapshot_path(number)
        text = self.storage.read_text(path)
        return None if text is None else parse_snapshot(text, path)

    def has(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot is still there."""
        found = self.snapshot(snapshot.number)
        return found is not None and found.id == snapshot.id

    def publish(self, snapshot: Snapshot, is_wanted: Callable[[], bool]) -> bool:
        """Writes a snapshot unless its number is taken; returns whether it did. `is_wanted` is asked last."""
        return self.storage.create_text(self.snapshot_path(snapshot.number), to_json(snapshot), is_wanted)

    def snapshot_path(self, number: int) -> str:
        """The file of a snapshot."""
        return f"{self._folder}/snapshots/{number}.json"

    def path(self, group: Group, name: str) -> str:
        """The path of a data file."""
        return f"{self.folder(group)}/{name}"

    def folder(self, group: Group) -> str:
        """The folder of a group."""
        return f"{self._folder}/data/{group.path}"

    def small(self, files: Collection[DataFile]) -> int:
        """The number of small files among some."""
        return sum(file.bytes < self.small_file_size for file in files)

    def _size(self) -> int:
        text = str(self._options.get(SMALL_FILE_SIZE, _DEFAULT_SMALL))
        if not text.isdecimal():
            raise InvalidOption(SMALL_FILE_SIZE, f"'{text}' is no number of bytes")
        return int(text)


def open_table(address: TableAddress) -> MemoryTable:
    """Opens a table.

    Raises:
        InvalidOption: the warehouse is no local folder, or the name or an option has no valid form.
        NotFound: the table does not exist.
        NotAllowed: the process may not use its own permissions there.
        CorruptTable: the definition cannot be read.
    """
    parts = address.name.split(".")
    if len(parts) == 1 or not all(map(is_file_name, parts)):
        raise InvalidOption(TABLE, f"'{address.name}' is not of the form namespace.table")
    folder = "/".join((warehouse_of(address), *parts))
    storage = local_storage((folder,))
    path = f"{folder}/definition.json"
    text = storage.read_text(path)
    if text is None:
        raise NotFound("table", address.name)
    with suppress(ValueError, KeyError, TypeError):
        return MemoryTable(address.name, folder, storage, json.loads(text), address.overrides)
    raise CorruptTable(path, "it is no definition of a table")


def warehouse_of(address: TableAddress) -> str:
    """The folder of an address's warehouse.

    Raises:
        InvalidOption: it is not local.
        NotAllowed: the process may not use its own permissions there.
    """
    folder = local_path(address.warehouse)
    if folder is None:
        raise InvalidOption("warehouse", f"{address.warehouse} is no local folder")
    address.reach.check(folder)
    return folder.rstrip("/")
