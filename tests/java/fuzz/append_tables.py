"""Draws tables without a key for random histories: columns, partitions, options. Called by `append`.

Tables are plain, have a bucket in which order counts, are clustered, or have deletion vectors.
"""

from __future__ import annotations

from random import Random
from typing import Any

from java.fuzz.changes import Columns
from java.fuzz.indexes import INDEXED, Indexes
from java.fuzz.options import FORMATS, draw_options
from support.comparing.append_shapes import without_levels
from support.comparing.rows import AVRO_VALUES, EVERY_VALUE, ORC_VALUES

KINDS = ("ordered", "clustered", "vectors", "plain")


class AppendTable:
    """A table as it is made, and its columns, which change.

    Args:
        seed: of the draws that were added later.
        random: draws all others.

    Attributes:
        partition: the values of the partition column; empty if there is none.
        columns: the columns but `id` and the partition column `p`.
        indexes: the file indexes, which change as the columns do.
        kind: one of `KINDS`.
        options: of the new table.
        smallest: the size from which row groups are copied; None for the usual.
    """

    def __init__(self, seed: int, random: Random) -> None:
        self._random = random
        formats, weights = zip(*FORMATS, strict=True)
        self._formats = random.choices(formats, weights)[0][:1]
        self.columns = self._columns()
        is_ordered = random.random() < 0.4
        self.partition = [*"ab"][: random.randint(1, 2)] if random.random() < 0.5 else []
        is_clustered = not is_ordered and random.random() < 0.4
        self.smallest = random.choice([None, 1, 1, 1, 3_000])
        for _ in range(random.choice([1, 2, 3, 5])):
            self.columns.add()
        self.options = self._any_options()
        if is_ordered:
            self.options |= {"bucket": "1", "bucket-key": "id"}
        if is_clustered:
            self.options |= self._clustering()
        has_vectors = not (is_ordered or is_clustered) and random.random() < 0.6
        if has_vectors:
            self.options |= self._vectors()
        drawn = (is_ordered, is_clustered, has_vectors, True)
        self.kind = KINDS[drawn.index(True)]
        self.indexes = self._indexes(Random(f"file indexes of {seed}"))

    @property
    def all_columns(self) -> dict[str, str]:
        """Names and types of all columns by now, in the order of a new table."""
        key = {"id": "INT", **({"p": "STRING"} if self.partition else {})}
        return {**key, **{name: str(kind) for name, kind in self.columns.now.items()}}

    def _columns(self) -> Columns:
        held: dict[str, Any] = {"parquet": EVERY_VALUE, "orc": ORC_VALUES, "avro": AVRO_VALUES}[
            self._formats[0]
        ]
        # Java's reader fails where more than 1,024 VARIANTs of lists come at a time, also in its own files.
        # Tables with nanoseconds are never copied.
        types = {kind for kind in held if self._random.random() < 0.2 or "9)" not in kind} - {"VARIANT"}
        columns = Columns(self._random, sorted(types), self._formats)
        columns.keys, columns.pinned = ["id"], {"id"}
        return columns

    def _any_options(self) -> dict[str, str]:
        random = self._random
        options = without_levels(draw_options(random, self._formats))
        options |= {"file.format": self._formats[0], "compaction.min.file-num": str(random.randint(2, 6))}
        options.pop("data-file.path-directory", None)
        if random.random() < 0.3:
            options["target-file-size"] = random.choice(["20 kb", "200 kb"])
        return options

    def _clustering(self) -> dict[str, str]:
        random = self._random
        return {
            "clustering.incremental": "true",
            "clustering.columns": random.choice(["id", "id,p"]) if self.partition else "id",
            "clustering.strategy": random.choice(["order", "zorder"]),
            "num-sorted-run.compaction-trigger": str(random.randint(2, 5)),
        }

    def _vectors(self) -> dict[str, str]:
        random = self._random
        return {
            "deletion-vectors.enabled": "true",
            "deletion-vectors.bitmap64": random.choice(["true", "false"]),
            "compaction.delete-ratio-threshold": random.choice(["0.0", "0.1", "0.2", "0.9"]),
            "deletion-vector.index-file.target-size": random.choice(["30 b", "100 b", "2 mb"]),
        }

    def _indexes(self, random: Random) -> Indexes:
        # Java's ORC reader gives all zeros of a batch the sign of the first, and its indexes have them so.
        but = ("FLOAT", "DOUBLE") if self._formats == ("orc",) else ()
        fixed = {name: self.all_columns[name] for name in ("id", "p") if name in self.all_columns}
        indexes = Indexes(random, self.columns, fixed, but)
        if random.random() < INDEXED:
            self.options |= indexes.draw()
        return indexes
