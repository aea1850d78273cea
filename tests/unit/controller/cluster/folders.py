"""Folders of small manifests, and a stand-in for the rules of the custom resources."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from lithify.controller.cluster.folder import FolderApi, Validate
from lithify.errors import InvalidOption
from lithify.resources.names import COMPACTION, LAKE_TABLE, ObjectKey, ResourceKind

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
ORDERS = ObjectKey("default", "orders")


def validate(kind: ResourceKind, body: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """One default, a rule for values, a rule for changes, and the default of status."""
    spec = dict(body.get("spec") or {})
    if kind is LAKE_TABLE:
        if "." not in spec.get("identifier", ""):
            raise InvalidOption("spec.identifier", "it is `database.table`")
        spec.setdefault("suspend", False)
    if before is not None and before["spec"].get("cancel") and not spec["cancel"]:
        raise InvalidOption("spec.cancel", "it cannot be taken back")
    return {**body, "spec": spec, "status": body.get("status") or {"observedGeneration": -1}}


def table(name: str = "orders", identifier: str = "sales.orders", more: str = "", labels: str = "{}") -> str:
    """A LakeTable as people write it."""
    return (
        "apiVersion: lithify.dev/v1alpha1\nkind: LakeTable\n"
        f"metadata:\n  name: {name}\n  labels: {labels}\nspec:\n  identifier: {identifier}\n{more}"
    )


def run_of(owner: dict[str, Any], name: str) -> dict[str, Any]:
    """A Compaction as the operator makes it."""
    reference = {"kind": LAKE_TABLE.name, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return {
        "metadata": {"name": name, "labels": {"t": reference["name"]}, "ownerReferences": [reference]},
        "spec": {"tableRef": {"name": reference["name"]}, "cancel": False},
    }


class Folder:
    """A folder of the user's, and the Api over it; its clock stands still unless it is moved."""

    def __init__(self, path: Path, rules: Validate = validate) -> None:
        self.path = path
        self.rules = rules
        self.now = START
        self._api: FolderApi | None = None

    @property
    def api(self) -> FolderApi:
        """The open Api."""
        if self._api is None:
            self._api = FolderApi(self.path, self.rules, lambda: self.now, interval=0.01)
        return self._api

    def close(self) -> None:
        """As the end of a process does."""
        if self._api is not None:
            self._api.close()
            self._api = None

    def reopen(self) -> FolderApi:
        """A new process on the same folder."""
        self.close()
        return self.api

    def save(self, name: str, text: str) -> None:
        """Writes a file; the Api sees nothing of it before it looks."""
        (self.path / name).write_text(text, encoding="utf-8")

    def settle(self) -> None:
        """Two looks: what is saved counts."""
        self.api.read_changes()
        self.api.read_changes()

    def put(self, name: str, text: str) -> None:
        """Writes a file and has it taken in."""
        self.save(name, text)
        self.settle()

    def remove(self, name: str) -> None:
        """Removes a file and has that noticed."""
        (self.path / name).unlink()
        self.settle()

    def pass_time(self, time: timedelta) -> None:
        """Moves the clock."""
        self.now += time

    @property
    def state(self) -> Path:
        """The state file."""
        return self.path / ".lithify" / "state.yaml"

    def stored(self, kind: ResourceKind) -> list[dict[str, Any]]:
        """The objects of a kind in the state file."""
        found = yaml.safe_load(self.state.read_text(encoding="utf-8"))["items"] or []
        return [item for item in found if item["kind"] == kind.name]

    def messages(self) -> list[tuple[str, int]]:
        """File and document of each flaw."""
        return [(flaw.file, flaw.document) for flaw in self.api.problems()]


async def the_table(folder: Folder, key: ObjectKey = ORDERS) -> dict[str, Any]:
    """A LakeTable that is there."""
    found = await folder.api.get(LAKE_TABLE, key)
    assert found is not None
    return dict(found)


async def make_run(folder: Folder, name: str = "orders-1") -> dict[str, Any]:
    """A Compaction of the table orders."""
    return dict(await folder.api.create(COMPACTION, "default", run_of(await the_table(folder), name)))
