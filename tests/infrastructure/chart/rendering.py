"""What Helm makes of the chart: its text, its objects, or why it refuses values.

Used by the checks of the chart. Nothing in here needs a cluster.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from infrastructure.chart.programs import helm

CHART = Path(__file__).resolve().parents[3] / "charts" / "lithify"
RELEASE, NAMESPACE = "lithify", "lithify-system"
KUBERNETES = "1.34.4"
_SOURCE = re.compile(r"^# Source: lithify/(\S+)$", re.MULTILINE)
_SEPARATOR = re.compile(r"^---$", re.MULTILINE)

Object = dict[str, Any]


class Refused(Exception):
    """Helm did not render the chart; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered chart."""

    text: str

    @property
    def objects(self) -> list[Object]:
        """All objects, those of hooks included."""
        return _objects(self.text)

    def of(self, *kinds: str) -> list[Object]:
        """The objects of some kinds."""
        return [found for found in self.objects if found["kind"] in kinds]

    def one(self, kind: str, name: str | None = None) -> Object:
        """The only object of a kind, or the one of a name."""
        (found,) = [each for each in self.of(kind) if name in (None, each["metadata"]["name"])]
        return found

    def without(self, *sources: str) -> str:
        """The text without what some templates made."""
        kept = []
        for part in _SEPARATOR.split(self.text):
            made = _SOURCE.search(part)
            if part.strip() and (made is None or made.group(1) not in sources):
                kept.append(part.strip("\n"))
        return "".join(f"---\n{part}\n" for part in kept)


@cache
def _objects(text: str) -> list[Object]:
    return [found for found in yaml.load_all(text, Loader=yaml.CSafeLoader) if found]


def render(
    values: Mapping[str, Any] | None = None,
    *arguments: str,
    namespace: str = NAMESPACE,
    chart: Path = CHART,
) -> Rendered:
    """The chart with values, for a release in a namespace.

    Raises:
        Refused: Helm does not accept the values.
    """
    command = ("template", RELEASE, str(chart), "--namespace", namespace, "--kube-version", KUBERNETES)
    return Rendered(run((*command, *arguments), values))


def notes(values: Mapping[str, Any] | None = None) -> str:
    """What Helm tells whoever installs the chart.

    Helm renders notes only where there is a cluster, so they are put into an object of a copy of the chart.
    """
    with tempfile.TemporaryDirectory(prefix="lithify-chart-") as folder:
        copy = Path(folder) / "lithify"
        shutil.copytree(CHART, copy)
        text = (copy / "templates" / "NOTES.txt").read_text(encoding="utf-8")
        wrapped = ('{{ define "notes" }}', text, '{{ end }}\ntext: {{ include "notes" . | toJson }}\n')
        (copy / "templates" / "notes.yaml").write_text("".join(wrapped), encoding="utf-8")
        rendered = render(values, "--show-only", "templates/notes.yaml", chart=copy)
    return str(rendered.objects[0]["text"])


def lint() -> str:
    """What Helm says about the chart.

    Raises:
        Refused: there are mistakes.
    """
    return run(("lint", "--strict", str(CHART), "--kube-version", KUBERNETES))


def run(arguments: Sequence[str], values: Mapping[str, Any] | None = None) -> str:
    """Runs Helm with values and returns what it printed; it knows of no cluster and no plug-in.

    Raises:
        Refused: it ended with an error.
    """
    with tempfile.TemporaryDirectory(prefix="lithify-chart-") as folder:
        file = Path(folder) / "values.json"
        file.write_text(json.dumps(values or {}), encoding="utf-8")
        with_values = () if arguments[0] == "lint" else ("--values", str(file))
        result = subprocess.run(
            [str(helm()), *arguments, *with_values],
            capture_output=True,
            text=True,
            check=False,
            env={"HOME": folder, "PATH": "/usr/bin:/bin"},
        )
    if result.returncode != 0:
        raise Refused(result.stderr.strip())
    return result.stdout
