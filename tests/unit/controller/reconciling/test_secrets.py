"""Catalog options out of Secrets: fetched by name, kept for a while, hidden from logs."""

from __future__ import annotations

from base64 import b64encode

import pytest

from lithify.controller.api import Object
from lithify.controller.reconciling.secrets import KEPT_SECONDS, Secrets
from lithify.errors import NotFound
from lithify.resources.catalog import CatalogSpec, Metastore, SecretReference, catalog_options
from lithify.resources.names import SECRET, Kind, ObjectKey

REFERENCE = SecretReference(name="keys", options={"s3.access-key": "id", "s3.secret-key": "secret"})


class Server:
    """An API server with one Secret."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.gets = 0

    async def get(self, kind: Kind, key: ObjectKey) -> Object | None:
        assert (kind, key) == (SECRET, ObjectKey("team", "keys"))
        self.gets += 1
        if not self.values:
            return None
        return {"data": {name: b64encode(value.encode()).decode() for name, value in self.values.items()}}


class Stage:
    def __init__(self, server: Server) -> None:
        self.now = 0.0
        self.hidden: list[str] = []
        self.secrets = Secrets(server, self.hidden.extend, lambda: self.now)


@pytest.mark.asyncio
async def test_options_are_taken_by_key_and_every_value_is_hidden() -> None:
    stage = Stage(Server(id="me", secret="hush", other="beside"))
    assert await stage.secrets.options("team", REFERENCE) == {"s3.access-key": "me", "s3.secret-key": "hush"}
    assert set(stage.hidden) == {"me", "hush", "beside"}


@pytest.mark.asyncio
async def test_a_secret_is_asked_for_again_when_it_is_old_or_was_refused() -> None:
    server = Server(id="me", secret="hush")
    stage = Stage(server)
    await stage.secrets.options("team", REFERENCE)
    stage.now = KEPT_SECONDS - 1
    await stage.secrets.options("team", REFERENCE)
    assert server.gets == 1
    stage.now = KEPT_SECONDS
    await stage.secrets.options("team", REFERENCE)
    assert server.gets == 2
    stage.secrets.forget("team", REFERENCE)
    server.values["secret"] = "new"
    assert (await stage.secrets.options("team", REFERENCE))["s3.secret-key"] == "new"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("server", "what"),
    [pytest.param(Server(), "Secret", id="no_secret"), pytest.param(Server(id="me"), "key", id="no_key")],
)
async def test_what_is_missing_is_named_and_noticed_as_soon_as_it_is_there(server: Server, what: str) -> None:
    stage = Stage(server)
    with pytest.raises(NotFound) as caught:
        await stage.secrets.options("team", REFERENCE)
    assert caught.value.what == what
    server.values = {"id": "me", "secret": "hush"}
    assert await stage.secrets.options("team", REFERENCE)


def test_a_catalog_becomes_options() -> None:
    spec = CatalogSpec(metastore=Metastore.REST, warehouse="lake", uri="http://rest", options={"token": "t"})
    found = catalog_options(spec, {"dlf.secret": "s"})
    assert found == {"metastore": "rest", "uri": "http://rest", "token": "t", "dlf.secret": "s"}
    assert catalog_options(CatalogSpec(warehouse="/w"), {}) == {"metastore": "filesystem"}
