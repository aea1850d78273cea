"""Image archives: what is in them, and that the same input gives the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from infrastructure.cluster.archive import MODIFIED, write_archive

NAME = "localhost/lithify/probe:test"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A layer with everything that a folder may have in it."""
    made = tmp_path / "folder"
    (made / "bin").mkdir(parents=True)
    program = made / "bin" / "program"
    program.write_bytes(b"#!" + bytes(3 * 512))
    program.chmod(0o4755)
    (made / "bin" / "same").hardlink_to(program)
    (made / "bin" / "alias").symlink_to("program")
    (made / "a.txt").write_text("é")
    (made / ("long" * 40)).mkdir(mode=0o700)
    return made


def blob(archive: Path, digest: str) -> bytes:
    with tarfile.open(archive) as opened:
        file = opened.extractfile(f"blobs/{digest.replace(':', '/')}")
        assert file is not None
        content = file.read()
    assert digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    return content


def parsed(archive: Path, digest: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(blob(archive, digest))
    return content


def index(archive: Path) -> dict[str, Any]:
    with tarfile.open(archive) as opened:
        file = opened.extractfile("index.json")
        assert file is not None
        content: dict[str, Any] = json.loads(file.read())
    return content


def test_an_archive_names_its_image_and_all_its_bytes_by_their_hash(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "image.tar"
    plain = tmp_path / "plain.tar"
    with tarfile.open(plain, "w") as made:
        made.add(folder / "a.txt", "b.txt")
    digest = write_archive(out, NAME, {"User": "185"}, [plain, folder])

    (entry,) = index(out)["manifests"]
    assert entry["digest"] == digest
    assert entry["annotations"]["io.containerd.image.name"] == NAME
    manifest = parsed(out, digest)
    assert [layer["size"] for layer in manifest["layers"]] == [
        len(blob(out, layer["digest"])) for layer in manifest["layers"]
    ]
    assert blob(out, manifest["layers"][0]["digest"]) == plain.read_bytes()
    configuration = parsed(out, manifest["config"]["digest"])
    assert configuration["config"] == {"User": "185"}
    assert configuration["rootfs"]["diff_ids"] == [layer["digest"] for layer in manifest["layers"]]


def test_a_folder_keeps_modes_and_links_and_loses_owners_and_times(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "image.tar"
    manifest = parsed(out, write_archive(out, NAME, {}, [folder]))
    layer = tmp_path / "layer.tar"
    layer.write_bytes(blob(out, manifest["layers"][0]["digest"]))
    with tarfile.open(layer) as opened:
        members = {member.name: member for member in opened}
    assert list(members) == ["a.txt", "bin", "bin/alias", "bin/program", "bin/same", "long" * 40]
    assert members["bin/program"].mode == 0o4755
    assert members["bin/program"].size == 3 * 512 + 2
    assert members["bin/alias"].linkname == "program"
    assert members["bin/same"].islnk()
    assert members["bin/same"].linkname == "bin/program"
    assert {(member.uid, member.gid, member.uname, member.mtime) for member in members.values()} == {
        (0, 0, "", MODIFIED)
    }


def test_the_same_input_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    write_archive(tmp_path / "one.tar", NAME, {"User": "185"}, [folder])
    for path in folder.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    write_archive(tmp_path / "two.tar", NAME, {"User": "185"}, [folder])
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_equal_layers_are_there_once(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "image.tar"
    manifest = parsed(out, write_archive(out, NAME, {}, [folder, folder]))
    assert len(manifest["layers"]) == 2
    with tarfile.open(out) as opened:
        names = opened.getnames()
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["localhost/lithify/probe", "localhost:5000/probe", "probe:"])
def test_a_name_without_a_tag_is_refused(name: str, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no tag"):
        write_archive(tmp_path / "image.tar", name, {}, [folder])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]


@pytest.mark.parametrize("mode", ["w:gz", "w:xz", None], ids=["gzip", "xz", "no tar"])
def test_a_layer_that_is_no_plain_tar_is_refused(mode: Any, folder: Path, tmp_path: Path) -> None:
    layer = tmp_path / "layer"
    if mode is None:
        layer.write_bytes(b"x" * 2048)
    else:
        with tarfile.open(layer, mode) as opened:
            opened.add(folder / "a.txt", "a.txt")
    with pytest.raises(ValueError, match="uncompressed tar"):
        write_archive(tmp_path / "image.tar", NAME, {}, [layer])


def test_a_device_cannot_come_from_a_folder(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(ValueError, match="pipe"):
        write_archive(tmp_path / "image.tar", NAME, {}, [folder])
