"""Runs of `lithify merge-manifests` on Java's tables, and what a table's newest snapshot is made of."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from typing import Any

from infrastructure.oracle.client import Oracle, Table
from lithify.engine.run.maintaining import MaintenanceReport, maintain
from lithify.formats.protocol.maintenance import MaintenanceKind, MaintenanceSettings
from support.runs import DEADLINE, LITHIFY, ShiftedClock, request

CLOCK = ShiftedClock()


def merge(
    table: Table, *, is_dry_run: bool = False, memory: int = 1 << 20, **options: str
) -> MaintenanceReport:
    """Merges the manifests of a table in this process."""
    address = replace(request(table).table, overrides=options)
    settings = MaintenanceSettings(memory=memory)
    return maintain(address, MaintenanceKind.MERGE_MANIFESTS, CLOCK, settings, is_dry_run=is_dry_run)


def merge_process(table: Table, faults: str = "") -> subprocess.Popen[str]:
    """Starts the command on a table."""
    command = [LITHIFY, "merge-manifests", "--warehouse", str(table.warehouse), "--table", str(table.name)]
    environment = {**os.environ, "LITHIFY_FAULTS": faults}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*command, "--json"], env=environment, text=True, **pipes)


def ended(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any]]:
    """The exit code of the command, and its report."""
    out, _ = process.communicate(timeout=DEADLINE)
    return process.returncode, json.loads(out) if process.returncode == 0 else {}


def manifests(oracle: Oracle, table: Table) -> tuple[int, int]:
    """The number of manifests in the lists of the newest snapshot: base and delta."""
    found = oracle.manifests(table)
    return len(found["base"]), len(found["delta"])


def live(oracle: Oracle, table: Table) -> list[Any]:
    """All that Java knows of the live files but the table's own folder, whatever their order."""
    found = [replace(file, path="") for file in oracle.files(table)]
    return sorted(found, key=lambda file: (str(file.partition), file.bucket, file.name, file.level))
