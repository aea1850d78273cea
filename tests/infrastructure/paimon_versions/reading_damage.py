"""Reads damaged metadata in bounded memory; arguments: SEED COUNT MEBIBYTES.

Run by tests, because what Polars does with damage might end the process. Prints JSON: how often what came of
it, the errors that nobody expects, and the longest time and most memory that one file took.
"""

from __future__ import annotations

import json
import sys
import tarfile
from collections import Counter
from collections.abc import Callable
from random import Random
from resource import RLIMIT_AS, setrlimit
from time import monotonic
from typing import Any

from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA

from infrastructure.paimon_versions.archive import VERSIONS, archive_of
from lithify.files.avro.metadata_files import unpack
from lithify.formats.paimon.manifests.entry_columns import decode_entries
from lithify.formats.paimon.manifests.entry_objects import entries_of
from lithify.formats.paimon.manifests.manifest_lists import read_list
from lithify.formats.paimon.snapshots.snapshot_files import parse_snapshot
from support.damage import damaged_avro, damaged_json
from support.process import peak_bytes

_NOTHING: dict[str, Any] = {"type": "record", "name": "r", "fields": [{"name": "_VERSION", "type": "int"}]}


_KINDS: dict[str, tuple[Callable[[Random, bytes], bytes], tuple[Callable[[bytes], object], ...]]] = {
    "manifest-list": (damaged_avro, (read_list,)),
    "index-manifest": (damaged_avro, (lambda content: list(unpack(content, _NOTHING).records()),)),
    "manifest": (
        damaged_avro,
        (
            decode_entries,
            lambda content: entries_of(decode_entries(content, statistics=True)),
            lambda content: list(unpack(content, MANIFEST_ENTRY_SCHEMA).records()),
        ),
    ),
    "snapshot": (damaged_json, (lambda content: parse_snapshot(content.decode()),)),
}


def real_files() -> list[tuple[str, bytes]]:
    """Manifests, lists, index manifests and snapshots of all versions, each with what it is."""
    found = []
    for version in VERSIONS:
        with tarfile.open(archive_of(version)) as archive:
            for member in archive:
                folder, _, name = member.name.rpartition("/")
                kind = next((kind for kind in _KINDS if name.startswith(f"{kind}-")), None)
                file = archive.extractfile(member)
                if kind is not None and file is not None and folder.endswith(("/manifest", "/snapshot")):
                    found.append((kind, file.read()))
    return found


def main(seed: int, count: int, mebibytes: int) -> None:
    """Damages and reads the given number of files."""
    files = real_files()
    setrlimit(RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
    outcomes: Counter[str] = Counter()
    surprises, longest = [], 0.0
    for number in range(seed, seed + count):
        rng = Random(number)
        kind, content = rng.choice(files)
        damage, readers = _KINDS[kind]
        damaged = damage(rng, content)
        print(f"{number} {kind}", file=sys.stderr, flush=True)
        for read in readers:
            start = monotonic()
            try:
                read(damaged)
                outcomes[f"{kind} read"] += 1
            except (ValueError, LookupError, EOFError):
                outcomes[f"{kind} refused"] += 1
            except BaseException as error:  # noqa: BLE001  # whatever else it is, the test is to tell
                surprises.append(f"{number} {kind}: {type(error).__name__}: {error}")
            longest = max(longest, monotonic() - start)
    grown = peak_bytes() >> 20
    print(json.dumps({"outcomes": outcomes, "surprises": surprises, "longest": longest, "mebibytes": grown}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
