"""Catalog options that are kept in Secrets: fetched when they are needed, kept for a while, never listed.

Used when a table is looked at. The driver gets its own copy from the kubelet; nothing of a Secret goes into
status, events or logs.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from time import monotonic

from lithify.controller.api import Api
from lithify.errors import NotFound
from lithify.resources.catalog import CatalogSpec, SecretReference, catalog_options
from lithify.resources.names import SECRET, ObjectKey

KEPT_SECONDS = 300.0
"""A changed Secret is noticed after this long, or as soon as the catalog refuses the old credentials."""


@dataclass(slots=True)
class Secrets:
    """What Secrets say, for a while.

    Attributes:
        api: the API server.
        hide: is told of every value, so that logs can leave it out.
        ticks: seconds that only ever grow.
    """

    api: Api
    hide: Callable[[Iterable[str]], None]
    ticks: Callable[[], float] = monotonic
    _kept: dict[ObjectKey, tuple[float, Mapping[str, str]]] = field(default_factory=dict)

    async def of_catalog(self, namespace: str, catalog: CatalogSpec) -> dict[str, str]:
        """All options of a catalog as pypaimon wants them, those of its Secret included.

        Raises:
            NotFound: the Secret, or a key of it, does not exist.
        """
        reference = catalog.secret_ref
        return catalog_options(catalog, await self.options(namespace, reference) if reference else {})

    async def options(self, namespace: str, reference: SecretReference) -> dict[str, str]:
        """The catalog options that a reference names.

        Raises:
            NotFound: the Secret, or a key of it, does not exist.
        """
        key = ObjectKey(namespace, reference.name)
        values = await self._values(key)
        missing = sorted(set(reference.options.values()) - values.keys())
        if missing:
            self._kept.pop(key, None)
            raise NotFound("key", f"{', '.join(missing)} in Secret {key}", "spec.secretRef.options names it")
        return {option: values[name] for option, name in reference.options.items()}

    def forget(self, namespace: str, reference: SecretReference | None) -> None:
        """Has a Secret fetched anew: its values were refused."""
        if reference is not None:
            self._kept.pop(ObjectKey(namespace, reference.name), None)

    async def _values(self, key: ObjectKey) -> Mapping[str, str]:
        kept = self._kept.get(key)
        if kept is not None and self.ticks() < kept[0] + KEPT_SECONDS:
            return kept[1]
        secret = await self.api.get(SECRET, key)
        if secret is None:
            raise NotFound("Secret", str(key), "spec.secretRef of the Catalog names it")
        encoded: Mapping[str, str] = secret.get("data") or {}
        values = {name: b64decode(text).decode(errors="replace") for name, text in encoded.items()}
        values |= secret.get("stringData") or {}
        self.hide(values.values())
        self._kept[key] = (self.ticks(), values)
        return values
