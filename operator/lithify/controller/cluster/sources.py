"""The YAML files of a folder, looked at again and again.

Called by `folder`. A file counts as saved once two looks have found it the same, so that a save that is under
way is waited for, and as gone once two looks have not found it: many editors remove a file and write another.
Files are only ever read.
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
"""Longer files are no manifests."""
Signature = tuple[int, int, int, int]


def signature(path: Path) -> Signature | None:
    """Changes whenever the file does; None if there is no such file, or it is a pipe or a device."""
    try:
        found = path.stat()
    except OSError:
        return None
    if not S_ISREG(found.st_mode):
        return None  # reading it might never end
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


@dataclass(slots=True)
class _File:
    """A file as it was last read, and as it was last seen.

    Attributes:
        read: its signature when it was read; None before.
        seen: its signature at the last look; None if it was not there.
        is_certain: it was read at a look that found it as the look before did.
        documents: what it held.
        flaws: what was wrong with it.
    """

    read: Signature | None = None
    seen: Signature | None = None
    is_certain: bool = False
    documents: tuple[Document, ...] = ()
    flaws: tuple[Flaw, ...] = ()


@dataclass(slots=True)
class Sources:
    """All YAML files below a folder but for hidden ones."""

    folder: Path
    _files: dict[str, _File] = field(default_factory=dict)
    _looks: int = 0

    def look(self) -> None:
        """Looks at all files, and reads those that have changed and are saved."""
        found = dict(self._walk())
        for name in self._files.keys() | found.keys():
            self._look_at(name, found.get(name))
        self._looks += 1

    @property
    def is_settled(self) -> bool:
        """Whether no file is being changed, as far as two looks can tell."""
        return self._looks > 1 and all(
            file.read == file.seen and file.is_certain for file in self._files.values()
        )

    @property
    def documents(self) -> list[Document]:
        """The objects of all files, by file."""
        return [document for name in sorted(self._files) for document in self._files[name].documents]

    @property
    def flaws(self) -> list[Flaw]:
        """What is wrong with files, by file."""
        return [flaw for name in sorted(self._files) for flaw in self._files[name].flaws]

    def is_flawed(self, name: str) -> bool:
        """Whether something in a file cannot be read, so that nobody knows what else it would hold."""
        file = self._files.get(name)
        return file is not None and bool(file.flaws)

    def _walk(self) -> Iterator[tuple[str, Signature]]:
        for folder, folders, files in os.walk(self.folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                if name.endswith(_SUFFIXES) and not name.startswith("."):
                    path = Path(folder, name)
                    found = signature(path)
                    if found is not None:
                        yield path.relative_to(self.folder).as_posix(), found

    def _look_at(self, name: str, found: Signature | None) -> None:
        file = self._files.setdefault(name, _File())
        is_saved = file.seen == found
        file.seen = found
        if found is None:
            if is_saved:
                del self._files[name]
        elif self._looks == 0 or (is_saved and not (file.is_certain and file.read == found)):
            self._read(name, file, is_saved)

    def _read(self, name: str, file: _File, is_saved: bool) -> None:
        """Reads a file; a change while it is read shows at the next look."""
        before = file.seen
        path = self.folder / name
        try:
            if before is not None and before[2] > _MOST_BYTES:
                raise ValueError(f"it has more than {_MOST_BYTES} bytes")  # noqa: TRY301  # one way out
            found = list(read_documents(name, path.read_text(encoding="utf-8-sig")))
        except (OSError, ValueError) as error:
            found = [Flaw(name, 0, 0, f"it cannot be read: {error}")]
        if signature(path) != before:
            return
        documents = tuple(item for item in found if isinstance(item, Document))
        if documents != file.documents:
            file.documents = documents
        file.flaws = tuple(item for item in found if isinstance(item, Flaw))
        file.read, file.is_certain = before, is_saved
