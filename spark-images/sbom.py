"""Writes the software bill of materials of an image, in CycloneDX JSON: `sbom.py IMAGE.tar >IMAGE.cdx.json`.

It is made of what is in the image (`contents`): Debian's packages by dpkg's status, Python's by their
metadata, jars by what is in them. It repeats what a package says about itself, licences included, and guesses
nothing: a licence that is not stated is not there. The same image gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
import uuid
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import Message
from pathlib import Path

from contents import Contents, read_archive
from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

NAMESPACE = uuid.UUID("0d1b6bd0-6f0c-5d3a-9d0f-3c1f6f6a7f10")
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
"""Stands for the time of making: the bill depends on the image alone."""
LONGEST_LICENSE = 100
"""Characters; some packages put the whole text into the field for its name."""
CLASSIFIER = "License :: OSI Approved :: "
LICENSES = LicenseFactory()


def main(path: Path) -> None:
    """Prints the bill of an image in an OCI archive."""
    print(bill_of(read_archive(path)))


def bill_of(contents: Contents) -> str:
    """The bill as JSON."""
    serial = uuid.uuid5(NAMESPACE, contents.digest)
    components = [*debian(contents), *python(contents), *jars(contents), *ours(contents)]
    bom = Bom(components=components, serial_number=serial)
    bom.metadata.timestamp = MOMENT
    bom.metadata.component = image(contents)
    bom.register_dependency(bom.metadata.component, components)
    return make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=1)


def image(contents: Contents) -> Component:
    """The image itself."""
    labels = contents.config.get("config", {}).get("Labels") or {}
    name = contents.name.partition(":")[0] if "/" in contents.name else contents.name
    location = {"repository_url": name} if "/" in name else {}
    return Component(
        name=name,
        version=contents.digest,
        type=ComponentType.CONTAINER,
        bom_ref=contents.digest,
        description=labels.get("org.opencontainers.image.description"),
        purl=PackageURL("oci", None, name.rpartition("/")[2], contents.digest, location),
    )


def ours(contents: Contents) -> Iterator[Component]:
    """Lithify, which is copied into the image, not installed."""
    for path, content in contents.files.items():
        found = re.search(rb'^__version__ = "(.+)"$', content, re.MULTILINE)
        if path.endswith("/lithify/__init__.py") and found:
            yield _component(PackageURL("pypi", None, "lithify", found[1].decode()), ["Apache-2.0"])


def debian(contents: Contents) -> Iterator[Component]:
    """Debian's packages, with the names of the licences in machine-readable copyright files."""
    distribution = _settings(contents.files.get("usr/lib/os-release", b""))
    status = contents.files.get("var/lib/dpkg/status", b"")
    for stanza in status.split(b"\n\n"):
        package = message_from_bytes(stanza.strip() + b"\n")
        if not package["Package"] or "installed" not in str(package["Status"]).split():
            continue
        qualifiers = {
            "arch": package["Architecture"],
            "distro": f"{distribution.get('ID', 'debian')}-{distribution.get('VERSION_ID', '')}",
        }
        if package["Source"]:
            name, _, version = package["Source"].partition(" (")
            qualifiers["upstream"] = f"{name}@{version.rstrip(')')}" if version else name
        purl = PackageURL("deb", "debian", package["Package"], package["Version"], qualifiers)
        copyright_ = contents.files.get(f"usr/share/doc/{package['Package']}/copyright", b"")
        yield _component(purl, sorted(_debian_licenses(copyright_.decode(errors="replace"))))


def python(contents: Contents) -> Iterator[Component]:
    """Python's packages, with what their own bills say is compiled into them."""
    for path, content in sorted(contents.files.items()):
        if path.endswith(".dist-info/METADATA"):
            metadata = message_from_bytes(content)
            name = re.sub(r"[-_.]+", "-", str(metadata["Name"])).lower()
            purl = PackageURL("pypi", None, name, metadata["Version"])
            component = _component(purl, _python_licenses(metadata))
            folder = path.removesuffix("METADATA") + "sboms/"
            for inner, bill in contents.files.items():
                if inner.startswith(folder):
                    component.components.update(_compiled_in(bill, str(purl)))
            yield component


def jars(contents: Contents) -> Iterator[Component]:
    """Java's archives, with the projects that are shaded into them."""
    for path, content in sorted(contents.files.items()):
        if path.endswith(".jar"):
            yield _jar(Path(path).name, content)


def _jar(file: str, content: bytes) -> Component:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if name.endswith("/pom.properties")]
        projects = {_project(_settings(archive.read(name))) for name in names}
        manifest = (
            archive.read("META-INF/MANIFEST.MF") if "META-INF/MANIFEST.MF" in archive.namelist() else b""
        )
    own = next((found for found in sorted(projects) if file.startswith(f"{found[1]}-{found[2]}")), None)
    stem = re.fullmatch(r"(.+?)-(\d.*)\.jar", file)
    group, name, version = own or (None, stem[1] if stem else file, stem[2] if stem else None)
    purl = PackageURL("maven", group, name, version)
    component = _component(purl, _bundle_licenses(manifest), reference=file, with_purl=group is not None)
    component.hashes.add(HashType(alg=HashAlgorithm.SHA_1, content=hashlib.sha1(content).hexdigest()))
    component.hashes.add(HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(content).hexdigest()))
    for project in sorted(projects - {own}):
        shaded = PackageURL("maven", *project)
        component.components.add(_component(shaded, [], reference=f"{file}#{shaded}"))
    return component


def _component(
    purl: PackageURL, licenses: Iterable[str], *, reference: str | None = None, with_purl: bool = True
) -> Component:
    """A library; without its purl where a part of that is not known, because scanners would not find it."""
    return Component(
        name=purl.name,
        group=purl.namespace if purl.type == "maven" else None,
        version=purl.version,
        purl=purl if with_purl else None,
        bom_ref=reference or str(purl),
        licenses=_licenses(licenses),
    )


def _licenses(names: Iterable[str]) -> list[License]:
    """What a package says, as identifiers and expressions of SPDX where it uses these."""
    found = [LICENSES.make_from_string(name) for name in dict.fromkeys(names)]
    # A bill holds one expression or several names, not both.
    return found if len(found) == 1 else [LICENSES.make_with_name(name) for name in dict.fromkeys(names)]


def _python_licenses(metadata: Message) -> list[str]:
    if expression := metadata["License-Expression"]:
        return [str(expression)]
    classifiers = [str(value) for value in metadata.get_all("Classifier", [])]
    if found := [value.removeprefix(CLASSIFIER) for value in classifiers if value.startswith(CLASSIFIER)]:
        return found
    stated = str(metadata["License"] or "")
    return [stated] if stated and len(stated) <= LONGEST_LICENSE and "\n" not in stated else []


def _debian_licenses(text: str) -> set[str]:
    if not text.startswith("Format:"):
        return set()
    return set(re.findall(r"^License: *(\S.*?) *$", text, re.MULTILINE))


def _bundle_licenses(manifest: bytes) -> list[str]:
    text = manifest.decode(errors="replace").replace("\r\n", "\n").replace("\n ", "")
    found = re.search(r"^Bundle-License: *(.+)$", text, re.MULTILINE)
    if found is None:
        return []
    # Commas separate clauses, a semicolon begins attributes; a name with a comma is quoted.
    clauses = re.findall(r'((?:"[^"]*"|[^",])+)', found[1])
    return [clause.partition(";")[0].strip().strip('"') for clause in clauses]


def _compiled_in(bill: bytes, package: str) -> Iterator[Component]:
    """The components of a bill that a wheel brings along."""
    for number, part in enumerate(json.loads(bill).get("components", [])):
        if part.get("purl"):
            purl = PackageURL.from_string(part["purl"])
            stated = [entry.get("expression") for entry in part.get("licenses", [])]
            yield _component(purl, filter(None, stated), reference=f"{package}#{number}-{purl}")


def _project(properties: Mapping[str, str]) -> tuple[str, str, str]:
    return properties.get("groupId", ""), properties.get("artifactId", ""), properties.get("version", "")


def _settings(content: bytes) -> dict[str, str]:
    """Lines of `key=value`."""
    pairs = (line.partition("=") for line in content.decode(errors="replace").splitlines())
    return {key.strip(): value.strip().strip('"') for key, found, value in pairs if found and key[:1] != "#"}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
