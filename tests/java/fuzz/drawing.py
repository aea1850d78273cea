"""Draws a history from a seed: the same for the same seed, and nothing that Java or Lithify would refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from java.fuzz.changes import Columns
from java.fuzz.engines import DEDUPLICATE, FIRST_ROW, IGNORE, PARTIAL_UPDATE, draw_engine, draw_engine_options
from java.fuzz.expiring import draw_expiry, expires
from java.fuzz.history import History, Step
from java.fuzz.indexes import INDEXED, Indexes
from java.fuzz.merging import REMOVE, draw_aggregation, draw_late_functions
from java.fuzz.options import FORMATS, VECTORS, draw_of_columns, draw_options, draw_shredded
from java.fuzz.postponing import draw_postponed
from java.fuzz.producers import NOT_LOOKED_UP, draw_details, draw_producer
from java.fuzz.steps import Steps
from java.fuzz.streaming import draw_readers
from java.fuzz.types import Atom
from support.comparing.rows import AVRO_VALUES, EVERY_VALUE, ORC_VALUES, without_nan

_AGGREGATING = 0.45
_EXPIRING = 0.15
_SKETCHING = 0.5
_MARKED = 0.25
_POSTPONED = 0.08
_NO_PARTITION = ("BYTES", "BINARY(3)", "VARBINARY", "VARIANT")
_OF_OTHER_LENGTHS = (
    *("DECIMAL(4, 4)", "DECIMAL(19, 3)", "VARCHAR(3)", "VARBINARY(5)", "TIME(1)"),
    *("TIMESTAMP(1)", "TIMESTAMP(4)", "TIMESTAMP(0) WITH LOCAL TIME ZONE"),
)
"""Types that files of every format can hold."""


def draw(seed: int) -> History:
    """The history of that number."""
    return _Draw(seed).history()


class _Draw:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = random = Random(seed)
        formats, weights = zip(*FORMATS, strict=True)
        self._engine = draw_engine(random)
        self._formats: Sequence[str] = random.choices(formats, weights)[0]
        if self._engine == FIRST_ROW:
            # Java rewrites where formats of levels differ, and we move files.
            self._formats = self._formats[:1]
        self._options = draw_options(random, self._formats)
        if self._engine != DEDUPLICATE:
            self._options = {name: value for name, value in self._options.items() if name not in IGNORE}
        self._atoms = _atoms(self._formats)
        self._columns = Columns(random, self._atoms, self._formats)
        self._columns.merged = self._engine == PARTIAL_UPDATE

    def history(self) -> History:
        random = self._random
        # Java cannot look up keys of bytes.
        but = _NO_PARTITION if self._engine == FIRST_ROW else ("VARIANT",)
        key = {f"k{n}": self._atom(but=but) for n in range(random.choice([1, 1, 1, 2, 3]))}
        self._columns.keys = list(key)
        if self._formats == ("parquet",) and random.random() < 0.2:
            self._options.update(draw_shredded(random, self._columns.add("VARIANT")))
            # Where types are inferred, Lithify looks at the first row group, Java at the first rows.
            for name in ("parquet.block.size", "file.block-size", "target-file-size"):
                self._options.pop(name, None)
        for _ in range(random.choice([0, 1, 2, 2, 3, 5, 8])):
            self._columns.add()
        partition = self._partition() if random.random() < 0.3 else {}
        moving = self._moving(partition)
        self._refer_to_columns(list(key), moving)
        # Drawn apart, so that the others are what they were before there were merge engines, or sketches.
        engine, sketches = Random(f"merge engine of {self._seed}"), Random(f"sketches of {self._seed}")
        if self._engine == PARTIAL_UPDATE and sketches.random() < _SKETCHING:
            self._columns.add("BYTES")
        self._merge_by_engine(sketches)
        is_aggregated = not moving and "merge-engine" not in self._options and engine.random() < _AGGREGATING
        if is_aggregated and sketches.random() < _SKETCHING:
            self._columns.add("BYTES")
        grouped = self._columns.pinned
        values = {
            name: str(kind) if name in grouped else self._declared(str(kind))
            for name, kind in self._columns.now.items()
        }
        if is_aggregated:
            self._options.update(draw_aggregation(engine, self._columns))
            # Lithify infers from the first row group, Java from the first rows: not the same in small files.
            self._options.pop("variant.inferShreddingSchema", None)
            if REMOVE in self._options:
                self._options.pop("rowkind.field", None)
            # Retractions leave nulls, which Java cannot write where there must be none.
            values = {name: kind.removesuffix(" NOT NULL") for name, kind in values.items()}
        self._expire()
        self._options.update(self._vectors([*key.values()]))
        if "rowkind.field" in self._options:
            values["kind"] = "STRING"
        is_postponed = self._postpone(moving)
        rescales = not (partition or is_postponed or self._options["bucket"] == "-1")
        indexes = self._indexes({**{name: kind for name, (kind, _) in partition.items()}, **key})
        steps = Steps(random, self._options, self._columns, self._formats, indexes, rescales=rescales)
        key_values = random.choice([2, 10, 40, 150])
        taken: Sequence[Step] = steps.draw()
        # Drawn apart, too: there were histories before there were changelogs.
        self._log_changes(key, values, taken)
        readers, taken = draw_readers(Random(f"readers of {self._seed}"), taken)
        return History(
            seed=self._seed,
            partition=partition,
            moving=moving,
            key=key,
            values=values,
            options={**self._options, **readers},
            key_values=key_values,
            steps=tuple(taken),
        )

    def _indexes(self, fixed: Mapping[str, str]) -> Indexes:
        """The file indexes of the table, which it has or not; drawn apart, too."""
        random = Random(f"file indexes of {self._seed}")
        indexes = Indexes(random, self._columns, fixed)
        if random.random() < INDEXED:
            self._options.update(indexes.draw())
        return indexes

    def _log_changes(self, key: Mapping[str, str], values: Mapping[str, str], steps: Sequence[Step]) -> None:
        """Options of a changelog and of lookups, which are not supported with postponed buckets."""
        if self._options["bucket"] == "-2":
            return
        producer = draw_producer(Random(f"changelog of {self._seed}"), self._options, key, values, steps)
        self._options.update(producer)
        details, kinds = Random(f"changelog files of {self._seed}"), [*key.values(), *values.values()]
        self._options.update(draw_details(details, self._options, self._formats, kinds, steps))

    def _expire(self) -> None:
        """Lets rows expire; Java does not see which files have such rows if statistics are dropped."""
        expiry = Random(f"expiry of {self._seed}")
        if expiry.random() < _EXPIRING:
            self._options.update(draw_expiry(expiry, self._columns))
        if expires(self._options):
            self._options.pop("manifest.delete-file-drop-stats", None)

    def _postpone(self, moving: Sequence[str]) -> bool:
        """Whether compactions choose the buckets of rows; drawn apart, too.

        Java's write buffer, which moves them, ignores `sequence.field.sort-order`. Rows wait in Avro files,
        into which Java cannot write all multisets.
        """
        random = Random(f"postponed buckets of {self._seed}")
        descends = self._options.get("sequence.field.sort-order") == "descending"
        is_held = not any("MULTISET" in str(kind) for kind in self._columns.now.values())
        if moving or descends or VECTORS in self._options or random.random() >= _POSTPONED or not is_held:
            return False
        self._columns.add_no_multisets()
        self._options = draw_postponed(random, self._options)
        return True

    def _vectors(self, key: Sequence[str]) -> dict[str, str]:
        """Options of a table with deletion vectors, drawn apart, too.

        Java cannot look up keys of bytes, rows that expire and, where rows are merged, some of their values.
        """
        random = Random(f"deletion vectors of {self._seed}")
        is_allowed = self._engine != FIRST_ROW and not expires(self._options)
        has_bytes = any(kind.startswith(_NO_PARTITION) for kind in key)
        merges = "merge-engine" in self._options or "sequence.field" in self._options
        if merges:
            is_allowed &= not any(str(each).startswith(NOT_LOOKED_UP) for each in self._columns.now.values())
        if not is_allowed or has_bytes or random.random() >= _MARKED:
            return {}
        if merges:
            self._columns.add_only_what_lookups_take()
        return {
            VECTORS: "true",
            "write-only": "true",
            "deletion-vectors.bitmap64": random.choice(["true", "false"]),
        }

    def _declared(self, kind: str) -> str:
        return f"{kind} NOT NULL" if self._random.random() < 0.1 else kind

    def _atom(self, but: Sequence[str] = ()) -> str:
        kinds = [kind for kind in self._atoms if not kind.startswith(tuple(but) or "-")]
        return self._random.choice(["INT", "STRING", *kinds])

    def _partition(self) -> dict[str, tuple[str, tuple[Any, ...]]]:
        random = self._random
        partition: dict[str, tuple[str, tuple[Any, ...]]] = {}
        for number in range(random.choice([1, 1, 2])):
            kind = self._atom(but=_NO_PARTITION)
            drawn = {
                str(value): value for value in (without_nan(EVERY_VALUE[kind])(random) for _ in range(3))
            }
            pool = [*drawn.values()][: random.randint(1, 3)]
            if kind == "STRING" and random.random() < 0.3:
                pool.append(random.choice(["", " ", "a/b", "x=%"]))
            partition[f"p{number}"] = (kind, tuple(pool))
        zoned = any("LOCAL" in kind for kind, _ in partition.values())
        if not zoned and random.random() < 0.3:
            self._options["partition.legacy-name"] = "false"
        return partition

    def _moving(self, partition: dict[str, tuple[str, tuple[Any, ...]]]) -> tuple[str, ...]:
        """Partition columns that the key does not have, which may be null then; buckets are dynamic."""
        random = self._random
        if not partition or self._engine != DEDUPLICATE or random.random() < 0.6:
            return ()
        self._options["bucket"] = "-1"
        moving = random.sample([*partition], random.randint(1, len(partition)))
        for name in moving:
            kind, pool = partition[name]
            partition[name] = (kind, (*pool, *random.sample([None], random.randint(0, 1))))
        return tuple(moving)

    def _refer_to_columns(self, key: list[str], moving: Sequence[str]) -> None:
        """Options that name columns."""
        random, columns = self._random, self._columns
        plain = [
            name
            for name, kind in columns.now.items()
            if isinstance(kind, Atom) and not str(kind).startswith(("VARIANT", "MULTISET", "VECTOR"))
        ]
        if plain and not moving and self._engine != FIRST_ROW and random.random() < 0.3:
            columns.fixed |= {*random.sample(plain, min(len(plain), random.choice([1, 1, 2])))}
            self._options["sequence.field"] = ",".join(sorted(columns.fixed))
            self._options["sequence.field.sort-order"] = random.choice(["ascending", "descending"])
        if random.random() < 0.1:
            self._options["rowkind.field"] = "kind"
        if self._options["bucket"] != "-1" and len(key) > 1 and random.random() < 0.3:
            bucket_key = random.sample(key, random.randint(1, len(key) - 1))
            self._options["bucket-key"] = ",".join(bucket_key)
            columns.pinned |= {*bucket_key}
        own = draw_of_columns(random, [*columns.now, *key])
        columns.pinned |= {name for name in (*columns.now, *key) if f"fields.{name}.stats-mode" in own}
        self._options.update(own)

    def _merge_by_engine(self, late: Random) -> None:
        kinds = {n: str(kind) for n, kind in self._columns.now.items() if n not in self._columns.fixed}
        drawn = draw_engine_options(self._random, self._engine, kinds)
        self._options.update(drawn)
        for name, value in drawn.items():
            if name.endswith(".sequence-group"):
                members = value.split(",")
                self._columns.pinned |= {*name.split(".")[1].split(","), *members}
                free = [each for each in members if f"fields.{each}.aggregate-function" not in drawn]
                columns = {each: self._columns.now[each] for each in free}
                self._options.update(draw_late_functions(late, columns))


def _atoms(formats: Sequence[str]) -> list[str]:
    """Types that files of all these formats can hold."""
    if formats == ("parquet",):
        return sorted(EVERY_VALUE)
    held = ORC_VALUES if "orc" in formats else AVRO_VALUES
    return sorted({*held, *_OF_OTHER_LENGTHS})
