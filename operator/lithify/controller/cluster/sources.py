"""The YAML files of a folder, polled.

Called by `folder`. A change counts once two polls have found the folder the same: so a partial save is never
read, nor the moment in which an editor has removed a file to write another. Files are only ever read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG

from lithify.controller.cluster.documents import Document, Flaw, read_documents

_SUFFIXES = (".yaml", ".yml")
_MOST_BYTES = 4 << 20
"""Longer files are not manifests."""
_Signature = tuple[int, int, int, int]


@dataclass(slots=True)
class Sources:
    """All YAML files below a folder except hidden ones.

    Attributes:
        folder: where they are.
        documents: the objects in them, by file.
        flaws: mistakes in them, by file.
        is_settled: whether they are unchanged since they were read, as far as two polls can tell.
    """

    folder: Path
    documents: list[Document] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)
    is_settled: bool = False
    _seen: dict[str, _Signature] | None = None
    _read: dict[str, _Signature] | None = None

    def poll(self) -> bool:
        """Reads all files at the first poll, and once changes are complete; returns whether it read them."""
        found, before = dict(self._walk()), self._seen
        self._seen = found
        self.is_settled = found == before
        if before is not None and (found == self._read or not self.is_settled):
            return False
        read = [item for name in sorted(found) for item in self._items(name, found[name])]
        self.documents = [item for item in read if isinstance(item, Document)]
        self.flaws = [item for item in read if isinstance(item, Flaw)]
        self._read = found if self.is_settled else None
        return True

    def _walk(self) -> Iterator[tuple[str, _Signature]]:
        """Files with stat fields that change with every write; skips pipes, which can block a reader."""
        for folder, folders, files in os.walk(self.folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                path = Path(folder, name)
                if not name.endswith(_SUFFIXES) or name.startswith("."):
                    continue
                try:
                    found = path.stat()
                except OSError:
                    continue  # it has just been removed
                if S_ISREG(found.st_mode):
                    signature = found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
                    yield path.relative_to(self.folder).as_posix(), signature

    def _items(self, name: str, signature: _Signature) -> list[Document | Flaw]:
        try:
            if signature[2] > _MOST_BYTES:
                raise ValueError(f"it has more than {_MOST_BYTES} bytes")  # noqa: TRY301  # one way out
            return list(read_documents(name, (self.folder / name).read_text(encoding="utf-8-sig")))
        except (OSError, ValueError) as error:
            return [Flaw(name, 0, 0, f"it cannot be read: {error}")]
