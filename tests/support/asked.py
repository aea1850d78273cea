"""What is asked of the local file system through pypaimon, as a list that tests look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from pypaimon.filesystem.local_file_io import LocalFileIO

from lithify.io.storage import Storage

_ASKED = ("exists", "list_status", "get_file_status", "new_input_stream", "new_output_stream", "delete")


@dataclass
class Asked:
    """Requests in their order, each as what was asked and the name of the file."""

    requests: list[tuple[str, str]] = field(default_factory=list)

    def of(self, kind: str) -> list[str]:
        """The files of which something was asked."""
        return [name for asked, name in self.requests if asked == kind]


@contextmanager
def recorded() -> Iterator[Asked]:
    """Records what is asked meanwhile; requests that only serve another one are not counted."""
    asked = Asked()
    with pytest.MonkeyPatch.context() as patch:
        for name in _ASKED:
            patch.setattr(LocalFileIO, name, _recording(asked, name, getattr(LocalFileIO, name)))
        patch.setattr(Storage, "names_in", _recording(asked, "list_status", Storage.names_in))
        yield asked


def _recording(asked: Asked, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def ask(self: object, path: str, *arguments: Any, **named: Any) -> Any:
        asked.requests.append((name, path.rsplit("/", 1)[-1]))
        return real(self, path, *arguments, **named)

    return ask
