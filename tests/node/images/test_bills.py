"""Software bills of materials: valid, complete, and the same for the same image."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from infrastructure.images.bills import bill_of, write_bill
from infrastructure.images.build import IMAGES, Image, build, build_archives
from lithify import __version__

pytestmark = pytest.mark.timeout(1200)

UNSTATED = {"hdfs-native"}
"""Packages whose wheels state no licence; that of hdfs-native is Apache-2.0, as its repository says."""


@pytest.fixture(scope="module", params=IMAGES)
def archive(can_build: None, request: pytest.FixtureRequest) -> Path:
    return build_archives() / f"{request.param}.tar"


@pytest.fixture(scope="module")
def bill(archive: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(write_bill(archive).read_text())
    return found


@pytest.fixture(scope="module")
def image(archive: Path) -> Image:
    return build(archive.stem)


def components(bill: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """Components by their names; `kind` is how their package URLs begin."""
    return {it["name"]: it for it in bill["components"] if it.get("purl", "").startswith(f"pkg:{kind}/")}


def in_image(image: Image, pattern: str) -> Iterator[Path]:
    """Files of the image, each in the last layer that has it."""
    return (path for layer in image.layers for path in layer.glob(pattern))


def test_bills_of_materials_are_valid_cyclonedx(archive: Path) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(write_bill(archive).read_text()) is None


def test_it_names_the_image_by_its_digest(archive: Path, bill: dict[str, Any]) -> None:
    described = bill["metadata"]["component"]
    assert described["name"] == f"localhost/lithify/{archive.stem}"
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", described["version"])
    assert described["purl"].startswith(f"pkg:oci/{archive.stem}@sha256")


def test_every_python_package_is_in_it_with_a_licence(image: Image, bill: dict[str, Any]) -> None:
    folders = in_image(image, "usr/local/lib/python3.11/dist-packages/*.dist-info")
    installed = {re.sub(r"[-_.]+", "-", folder.name.rsplit("-", 2)[0]).lower() for folder in folders}
    found = components(bill, "pypi")
    assert found.keys() == installed | {"lithify"}
    assert found["lithify"]["version"] == __version__
    assert {name for name, package in found.items() if not package.get("licenses")} == UNSTATED
    assert "pandas" not in found


def test_every_debian_package_is_in_it(image: Image, bill: dict[str, Any]) -> None:
    *_, status = in_image(image, "var/lib/dpkg/status")
    installed = re.findall(r"^Package: (\S+)$", status.read_text(), re.MULTILINE)
    assert components(bill, "deb").keys() == set(installed)
    assert "distro=debian-12" in components(bill, "deb")["libc6"]["purl"]


def test_every_jar_is_in_it(image: Image, bill: dict[str, Any]) -> None:
    jars = {
        path.name for path in in_image(image, "usr/local/lib/python3.11/dist-packages/pyspark/jars/*.jar")
    }
    found = {it["bom-ref"]: it for it in bill["components"] if it["bom-ref"].endswith(".jar")}
    assert found.keys() == jars
    assert all({digest["alg"] for digest in jar["hashes"]} == {"SHA-1", "SHA-256"} for jar in found.values())


def test_what_is_compiled_into_wheels_is_in_it(bill: dict[str, Any]) -> None:
    inside = {it["name"] for it in components(bill, "pypi")["obstore"]["components"]}
    assert "object_store" in inside


def test_the_same_image_has_the_same_bill(archive: Path) -> None:
    one, other = (bill_of(archive, PYTHONHASHSEED=seed) for seed in "12")
    assert one == other == write_bill(archive).read_text()


def test_licences_stay_in_the_image(image: Image) -> None:
    kept = {path.parent.name for path in in_image(image, "usr/share/doc/*/copyright")}
    assert {"libc6", "gcc-12-base", "python3.11", "tini", "libssl3"} <= kept
    packages = in_image(image, "usr/local/lib/python3.11/dist-packages/*.dist-info")
    files = {path.name: {it.name.lower() for it in path.rglob("*")} for path in packages}
    assert any("license" in name for name in files["pyarrow-19.0.1.dist-info"])
