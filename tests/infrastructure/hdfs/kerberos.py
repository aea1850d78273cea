"""Kerberos for tests: its library, which this machine may lack, and what the key distribution centre leaves.

`Kerberos.java` starts the centre beside the servers of a cluster.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from infrastructure.building.debian_packages import unpack
from infrastructure.building.once import build_once, cache_home, fingerprint

NAME = "LITHIFY.TEST"
CLIENT = "lithify"
"""A principal that HDFS lets in."""
STRANGER = "stranger"
"""One with a key that HDFS gives no rights."""

_LIBRARY = "libgssapi_krb5.so.2"
_NEEDED = ("libcom_err.so.2", "libkeyutils.so.1", "libkrb5support.so.0", "libk5crypto.so.3", "libkrb5.so.3")
_PACKAGES = (
    "libcom-err2",
    "libkeyutils1",
    "libkrb5support0",
    "libk5crypto3",
    "libkrb5-3",
    "libgssapi-krb5-2",
)
_AES_128 = 17


@dataclass(frozen=True, slots=True)
class Realm:
    """What a key distribution centre has left in its folder."""

    folder: Path

    def keytab(self, name: str) -> Path:
        """The file with a principal's key."""
        return self.folder / f"{name}.keytab"

    def configure(self, path: Path, **settings: str) -> Path:
        """Writes a configuration of the library: `kdc` is where the centre is, other settings are general."""
        text = (self.folder / "krb5.conf").read_text()
        if "kdc" in settings:
            text = re.sub(r"kdc = localhost:\d+", f"kdc = {settings.pop('kdc')}", text)
        lines = [f"    {name} = {value}" for name, value in {"dns_lookup_kdc": "false", **settings}.items()]
        path.write_text(text.replace("[libdefaults]", "\n".join(["[libdefaults]", *lines])))
        return path


def write_keytab(path: Path, principal: str) -> Path:
    """Writes a keytab with a key that a principal does not have."""
    name, realm, key = principal.encode(), NAME.encode(), os.urandom(16)
    texts = [len(text).to_bytes(2, "big") + text for text in (realm, name)]
    entry = b"".join(
        [
            *((1).to_bytes(2, "big"), *texts, (1).to_bytes(4, "big")),  # one name of this kind
            *(bytes(4), b"\x01"),  # written in 1970, the first version of the key
            *(_AES_128.to_bytes(2, "big"), len(key).to_bytes(2, "big"), key),
        ]
    )
    path.write_bytes(b"\x05\x02" + len(entry).to_bytes(4, "big") + entry)
    return path


def load_library() -> Mapping[str, str]:
    """Loads Kerberos's library into this process; returns the environment with which others find it."""
    try:
        ctypes.CDLL(_LIBRARY)
    except OSError:
        return _load_unpacked(_unpacked())
    return {}


def _load_unpacked(folder: Path) -> Mapping[str, str]:
    """Some of Debian's libraries are below `lib`, others below `usr/lib`."""
    found = {path.name: path for path in folder.rglob("*.so.*")}
    for name in (*_NEEDED, _LIBRARY):
        ctypes.CDLL(str(found[name]), ctypes.RTLD_GLOBAL)
    return {"LD_LIBRARY_PATH": ":".join(sorted({str(path.parent) for path in found.values()}))}


def _unpacked() -> Path:
    wanted = cache_home("kerberos") / fingerprint(_PACKAGES, [], frozenset())
    return build_once(wanted, "Kerberos's library", "a few seconds", partial(unpack, _PACKAGES))
