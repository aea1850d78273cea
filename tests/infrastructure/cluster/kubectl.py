"""kubectl as tests call it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


class KubectlFailed(Exception):
    """kubectl ended with an error; `stderr` is what it said."""

    def __init__(self, arguments: Sequence[str], stderr: str) -> None:
        super().__init__(f"kubectl {' '.join(arguments)}: {stderr.strip()}")
        self.stderr = stderr


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Calls kubectl for one cluster, and one namespace of it if that is set."""

    program: Path
    kubeconfig: Path
    cache: Path
    namespace: str | None = None

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        """Runs kubectl and returns what it printed.

        Raises:
            KubectlFailed: it ended with an error.
        """
        fixed = [f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.cache}"]
        if self.namespace is not None and not {"-A", "--all-namespaces"} & set(arguments):
            fixed.append(f"--namespace={self.namespace}")
        result = subprocess.run(
            [str(self.program), *fixed, *arguments],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            check=False,
        )
        if result.returncode != 0:
            raise KubectlFailed(arguments, result.stderr)
        return result.stdout

    def apply(self, *objects: Mapping[str, Any]) -> str:
        """Applies objects, as `kubectl apply -f -` does."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        return self("apply", "-f", "-", stdin=json.dumps(items))

    def await_definition(self, name: str) -> None:
        """Waits until a CustomResourceDefinition is served; `--for=condition` fails while it has none."""
        condition = '{.status.conditions[?(@.type=="Established")].status}'
        self("wait", "crd", name, f"--for=jsonpath={condition}=True", "--timeout=60s")

    def get(self, *what: str) -> dict[str, Any]:
        """An object, or a list of them."""
        found: dict[str, Any] = json.loads(self("get", *what, "-o", "json"))
        return found

    def within(self, namespace: str) -> Kubectl:
        """The same for a namespace."""
        return replace(self, namespace=namespace)
