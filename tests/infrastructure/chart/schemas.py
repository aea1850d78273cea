"""Kubernetes' own OpenAPI schemas, as JSON schemas that refuse fields which nobody knows.

They come with the Go module that the test cluster is built from, and are copied into the cache when Helm is
built. The real API server, which knows more than its schemas say, is asked in `test_installing`.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from infrastructure.building.once import cache_home
from infrastructure.chart.rendering import Object
from infrastructure.cluster.binaries import PROGRAMS as CLUSTER

_MODULE = "k8s.io/kubernetes"
_WHOLE = "api/openapi-spec/swagger.json"
_PREFIX = "#/definitions/"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


def copy_schemas() -> Path:
    """Copies the schemas into the cache unless they are there; returns the copy.

    Raises:
        RuntimeError: the module cannot be had.
    """
    path = _path()
    if not path.exists():
        module = ("go", "mod", "download", "-json", _MODULE)
        found = subprocess.run(module, cwd=CLUSTER.sources, capture_output=True, text=True, check=False)
        if found.returncode != 0:
            raise RuntimeError(f"{' '.join(module)} failed: {found.stderr}{found.stdout}")
        content = (Path(json.loads(found.stdout)["Dir"]) / _WHOLE).read_bytes()
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(".part")
        scratch.write_bytes(content)
        scratch.rename(path)
    return path


def problems(found: Object) -> list[str]:
    """What is wrong with an object, each with its place."""
    definitions, names = _definitions()
    name = names.get((found["apiVersion"], found["kind"]))
    if name is None:
        return [f"Kubernetes has no {found['apiVersion']} {found['kind']}"]
    validator = Draft202012Validator({"$ref": f"{_PREFIX}{name}", "definitions": definitions})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(found)]


def _path() -> Path:
    found = re.search(rf"{_MODULE} (v[0-9.]+)", (CLUSTER.sources / "go.mod").read_text(encoding="utf-8"))
    assert found is not None
    return cache_home("kubernetes-schemas") / f"{found.group(1)}.json"


@cache
def _definitions() -> tuple[Mapping[str, Any], Mapping[tuple[str, str], str]]:
    """All definitions, made strict, and their names by apiVersion and kind."""
    whole = json.loads(_path().read_text(encoding="utf-8"))["definitions"]
    names = {}
    for name, definition in whole.items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            version = "/".join(part for part in (kind["group"], kind["version"]) if part)
            names[version, kind["kind"]] = name
    definitions = {name: _strict(definition) for name, definition in whole.items()}
    definitions[_QUANTITY] = {"type": ["string", "number"]}  # as the API server takes them
    return definitions, names


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(one) for one in node]
    if not isinstance(node, dict):
        return node
    # What formats mean is the API server's business, but for this one: it stands for two types.
    if node.get("format") == "int-or-string":
        return {"type": ["integer", "string"]}
    strict = {name: _strict(one) for name, one in node.items() if name != "format"}
    if "properties" in strict and "additionalProperties" not in strict:
        strict["additionalProperties"] = False
    return strict
