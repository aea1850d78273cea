"""The kinds of stores: which settings, options and credentials belong to which paths. Pure.

Called by adapters, which know of stores no more than this. `clients` and
`io.hdfs` connect to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from lithify.errors import CorruptTable
from lithify.io.access_policy import UNBOUNDED, AccessPolicy
from lithify.io.hdfs import settings as hdfs
from lithify.io.hdfs.settings import HdfsSettings
from lithify.io.locations import ObjectPath, Store, object_path, store_of
from lithify.io.objects import azure, gcs, oss, s3
from lithify.io.objects.azure import AzureKeys, AzureSettings, SasToken
from lithify.io.objects.gcs import GcsKeys, GcsSettings
from lithify.io.objects.s3 import S3Keys, S3Settings
from lithify.io.objects.settings import BearerToken, Dialect

ObjectSettings = S3Settings | GcsSettings | AzureSettings
StoreSettings = ObjectSettings | HdfsSettings
Keys = S3Keys | GcsKeys | AzureKeys
ExpiringKeys = S3Keys | BearerToken | SasToken
"""Credentials that a catalog's server issues, and that it renews."""

OPTION_NAMES = frozenset(
    {
        *(*s3.OPTION_NAMES, s3.PATIENCE, *gcs.OPTION_NAMES, gcs.PATIENCE),
        *(*azure.OPTION_NAMES, azure.PATIENCE, *oss.OPTION_NAMES, oss.PATIENCE),
        *(*hdfs.OPTION_NAMES, hdfs.PATIENCE),
    }
)
"""The options of all stores, except those for one account or name service."""
OPTION_FAMILIES = (*azure.FAMILIES, *hdfs.FAMILIES)
"""What the names of options for one account or name service begin with."""
WITH_LINES = frozenset(
    {gcs.ACCOUNT_KEY, *(f"{each}auth.service.account.private.key" for each in ("fs.gs.", "gs."))}
)
"""Options whose values may have several lines."""

_READERS: Mapping[Store, Callable[[Mapping[str, str], AccessPolicy], StoreSettings]] = {
    Store.S3: s3.read_settings,
    Store.GCS: gcs.read_settings,
    Store.AZURE: azure.read_settings,
    Store.OSS: oss.read_settings,
    Store.HDFS: hdfs.read_settings,
}
_DIALECTS = {
    Store.S3: s3.DIALECT,
    Store.GCS: gcs.DIALECT,
    Store.AZURE: azure.DIALECT,
    Store.OSS: oss.DIALECT,
    Store.HDFS: hdfs.DIALECT,
}


def settings_for(path: str, options: Mapping[str, str], reach: AccessPolicy = UNBOUNDED) -> StoreSettings:
    """How to reach the store of a path, by a catalog's options.

    Raises:
        InvalidOption: an option is invalid, or options contradict each other.
        CorruptTable: it is no path on an object store.
    """
    store = store_of(path)
    if store is None:
        raise CorruptTable(path, "it is no path on an object store")
    return _READERS[store](options, reach)


def keys_for(path: str, options: Mapping[str, str]) -> Keys | None:
    """The credentials in some options for the store of a path; None if there are none.

    Raises:
        InvalidOption, CorruptTable: see `settings_for`.
    """
    return settings_for(path, options).keys_of(root_of(path))


def has_any_keys(options: Mapping[str, str]) -> bool:
    """Whether options have credentials for some store.

    Raises:
        InvalidOption: they are incomplete.
    """
    readers = (s3.read_keys, gcs.read_keys, oss.read_keys)
    return any(read(options) is not None for read in readers) or azure.has_keys(options)


def renewed_at(keys: ExpiringKeys, moment: datetime) -> ExpiringKeys:
    """The same credentials, to be requested again at a moment."""
    return replace(keys, expires=moment)


def root_of(path: str) -> ObjectPath:
    """The bucket of a path.

    Raises:
        CorruptTable: it is no path on an object store.
    """
    return parsed(path).root


def parsed(path: str) -> ObjectPath:
    """The parts of a path.

    Raises:
        CorruptTable: it is no path on an object store.
    """
    there = object_path(path)
    if there is None:
        store = store_of(path) or Store.S3
        raise CorruptTable(path, f"it is no path on {store}, of the form {dialect_of(store).form}")
    return there


def dialect_of(store: Store) -> Dialect:
    """How a kind of store is spoken to."""
    return _DIALECTS[store]
