"""A namespace in which an operator works, tables under its care, and the story of what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from infrastructure.cluster.kubectl import Kubectl
from infrastructure.oracle.client import Oracle, Table
from lithify.resources.compaction import Compaction, CompactionStatus, Reason
from lithify.resources.modelling import read
from support.operators.holds import Holds
from support.operators.objects import QUIET, catalog, catalog_and_keys, compaction, lake_table, policy
from support.operators.server import COMPACTIONS, PATIENCE, TABLES, Object, Server, Story, condition


@dataclass(frozen=True, slots=True)
class Care:
    """A table under the operator's care, and the objects that say so."""

    table: Table
    lake: str
    catalog: str
    policy: str


@dataclass(kw_only=True)
class Scene:
    """A namespace in which some operator works; names get a suffix, so that tests in it do not meet.

    Attributes:
        kubectl: kubectl in the namespace.
        server: requests to it.
        story: what happens in it.
        holds: where its drivers can be held.
        suffix: of this test's names.
    """

    kubectl: Kubectl
    server: Server
    story: Story
    holds: Holds
    suffix: str = ""

    def name(self, word: str) -> str:
        """A name of this test's own."""
        return f"{word}-{self.suffix}" if self.suffix else word

    def care_for(
        self,
        table: Table,
        word: str = "orders",
        *,
        of: Mapping[str, Any] | None = None,
        under: Mapping[str, Any] | str | None = None,
        **spec: Any,
    ) -> Care:
        """Applies what puts a table under care.

        Args:
            table: which.
            word: what its objects are called.
            of: the spec of its Catalog, in part; a catalog of files if unset.
            under: the spec of its policy, in part, or the name of one; one that never fires if unset.
            **spec: more of the LakeTable's spec.
        """
        name = self.name(word)
        named = under if isinstance(under, str) else name
        care = Care(table, name, name, named)
        objects = [
            *catalog_and_keys(
                catalog(name, **{"warehouse": str(table.warehouse), **(of or {})}),
            )
        ]
        if not isinstance(under, str):
            objects.append(policy(name, **({"triggers": QUIET} if under is None else under)))
        fields = {"identifier": table.name, **spec}
        objects.append(lake_table(name, catalog=name, policy=named, **fields))
        self.kubectl.apply(*objects)
        return care

    def run(self, care: Care, word: str = "run", **spec: Any) -> str:
        """Asks for a compaction, a full one unless the spec says otherwise; its name."""
        name = self.name(word)
        self.server.create(COMPACTIONS, compaction(name, care.lake, **spec))
        return name

    def stands(self, run: str, reason: Reason, saying: str = "", *, seconds: float = PATIENCE) -> Object:
        """A Compaction as soon as it has a reason and says something; fails if it ends otherwise."""

        def holds(found: Object) -> bool:
            succeeded = condition(found, "Succeeded")
            is_so = succeeded.get("reason") == reason and saying in succeeded["message"]
            assert is_so or not is_over(found), f"{run} has ended: {succeeded}"
            return is_so

        return self.story.until(COMPACTIONS, run, holds, seconds=seconds)

    def ended(self, run: str, *, seconds: float = PATIENCE) -> Object:
        """A Compaction as soon as it has ended."""
        return self.story.until(COMPACTIONS, run, is_over, seconds=seconds)

    def first_run(self, care: Care, *, seconds: float = PATIENCE) -> str:
        """The name of the first Compaction that the operator makes for a table."""

        def names() -> list[str]:
            runs = [
                run for run in self.story.all(COMPACTIONS) if run["spec"]["tableRef"]["name"] == care.lake
            ]
            return [run["metadata"]["name"] for run in runs]

        assert self.story.wait(lambda: bool(names()), seconds), self.told(care)
        return names()[0]

    def told(self, care: Care) -> list[str]:
        """What the conditions of a LakeTable say, for messages."""
        found = (self.story.now(TABLES, care.lake) or {}).get("status", {}).get("conditions", [])
        return [f"{one['type']} {one['status']} {one['reason']}: {one['message']}" for one in found]

    def ready(self, care: Care, *, seconds: float = PATIENCE) -> Object:
        """A LakeTable as soon as it has been looked at with success."""
        return self.table_says(care, "Ready", "True", seconds=seconds)

    def table_says(
        self, care: Care, kind: str, status: str, reason: str | None = None, *, seconds: float = PATIENCE
    ) -> Object:
        """A LakeTable as soon as one of its conditions is what it should be."""

        def holds(found: Object) -> bool:
            said = condition(found, kind)
            return said.get("status") == status and reason in (None, said["reason"])

        return self.story.until(TABLES, care.lake, holds, seconds=seconds)

    def reasons(self, run: str) -> list[Reason]:
        """Where a Compaction has stood, in this order."""
        found: list[Reason] = []
        for version in self.story.versions(COMPACTIONS, run):
            said = condition(version, "Succeeded").get("reason")
            if said and (not found or found[-1] != said):
                found.append(Reason(said))
        return found

    @property
    def seen(self) -> frozenset[Reason]:
        """All reasons that this test's Compactions have had."""
        return frozenset(reason for name in self._runs() for reason in self.reasons(name))

    def _runs(self) -> list[str]:
        """The names of this test's Compactions, whether they are there or not."""
        names = self.story.names(COMPACTIONS)
        tables = {
            name: self.story.versions(COMPACTIONS, name)[-1]["spec"]["tableRef"]["name"] for name in names
        }
        return [name for name in names if tables[name].endswith(self.suffix)]


def is_over(found: Object) -> bool:
    """Whether a Compaction has ended."""
    return condition(found, "Succeeded").get("status", "Unknown") != "Unknown"


def status_of(run: Object) -> CompactionStatus:
    """The status of a Compaction, with what is left out because it is the default."""
    return read(Compaction, run).status


def message(found: Object, kind: str = "Succeeded") -> str:
    """What a condition says to people."""
    return str(condition(found, kind).get("message", ""))


def compactions_of(oracle: Oracle, table: Table) -> int:
    """How many compactions a table has seen."""
    return sum(snapshot["commitKind"] == "COMPACT" for snapshot in oracle.snapshots(table))


def proves(*reasons: Reason) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test in which Compactions must have had all these reasons; `test_every_reason` knows of it."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def proving(*arguments: Any, **named: Any) -> None:
            test(*arguments, **named)
            seen = frozenset().union(*(one.seen for one in named.values() if isinstance(one, Scene)))
            assert set(reasons) <= seen, f"never seen: {sorted(set(reasons) - seen)}"

        proving.proves = frozenset(reasons)  # type: ignore[attr-defined]
        return proving

    return decorate
