"""Catalog options out of Secrets: fetched by name, kept for a while, hidden from logs."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Iterable

import pytest

from lithify.controller.api import Object
from lithify.controller.reconciling.secrets import KEPT_SECONDS, MOST_CHARACTERS, SUSPECT_SECONDS, Secrets
from lithify.errors import InvalidOption, NotFound
from lithify.resources.catalog import Catalog, CatalogSpec, SecretReference, catalog_options
from lithify.resources.names import SECRET, ObjectKey, ResourceKind
from lithify.resources.objects import Metadata

REFERENCE = SecretReference(name="keys", options={"s3.access-key": "id", "s3.secret-key": "secret"})


class Server:
    """An API server with one Secret."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.gets = 0

    async def get(self, kind: ResourceKind, key: ObjectKey) -> Object | None:
        assert (kind, key) == (SECRET, ObjectKey("team", "keys"))
        self.gets += 1
        if not self.values:
            return None
        return {"data": {name: b64encode(value.encode()).decode() for name, value in self.values.items()}}


LAKE = ObjectKey("team", "lake")


def catalog(reference: SecretReference = REFERENCE, **options: str) -> Catalog:
    spec = CatalogSpec(warehouse="s3://stones/w", secret_ref=reference, options=options)
    return Catalog(metadata=Metadata(name="lake", namespace="team"), spec=spec)


class Hidden:
    """Notes what it is to hide."""

    def __init__(self) -> None:
        self.values: dict[ObjectKey, set[str]] = {}
        self.ordinary: set[str] = set()

    def replace(self, catalog: ObjectKey, values: Iterable[str], ordinary: Collection[str] = ()) -> None:
        self.values[catalog] = set(values)
        self.ordinary = set(ordinary)

    def forget(self, catalog: ObjectKey) -> None:
        del self.values[catalog]


class Stage:
    def __init__(self, server: Server) -> None:
        self.now = 0.0
        self.hidden = Hidden()
        self.secrets = Secrets(server, self.hidden, lambda: self.now)


@pytest.mark.asyncio
async def test_only_the_keys_that_the_catalog_names_are_taken_and_hidden() -> None:
    stage = Stage(Server(id="me", secret="hush", other="beside"))
    assert await stage.secrets.options("team", REFERENCE) == {"s3.access-key": "me", "s3.secret-key": "hush"}
    assert stage.hidden.values == {}
    options = await stage.secrets.of_catalog(catalog(**{"s3.region": "eu-west-1"}))
    assert options["s3.secret-key"] == "hush"
    assert stage.hidden.values == {LAKE: {"me", "hush"}}
    assert stage.hidden.ordinary >= {"s3://stones/w", "eu-west-1", "lake"}
    stage.secrets.forget(LAKE)
    assert stage.hidden.values == {}


@pytest.mark.asyncio
@pytest.mark.parametrize("name", ["header.Cookie", "header.Private-Token", "header.X-Auth", "token"])
async def test_a_credential_in_plain_options_is_refused_and_hidden(name: str) -> None:
    """Objects from before the rule may still have one."""
    stage = Stage(Server(id="me", secret="hush"))
    with pytest.raises(InvalidOption) as caught:
        await stage.secrets.of_catalog(catalog(**{name: "plain"}))
    assert name in caught.value.option
    assert "plain" in stage.hidden.values[LAKE]
    assert "plain" not in stage.hidden.ordinary


@pytest.mark.asyncio
async def test_a_secret_is_asked_for_again_when_it_is_old_or_was_refused_or_other_keys_are_named() -> None:
    server = Server(id="me", secret="hush", other="beside")
    stage = Stage(server)
    await stage.secrets.of_catalog(catalog())
    stage.now = KEPT_SECONDS - 1
    await stage.secrets.of_catalog(catalog())
    assert server.gets == 1
    stage.now = KEPT_SECONDS
    await stage.secrets.of_catalog(catalog())
    assert server.gets == 2
    stage.secrets.refused(LAKE)
    server.values["secret"] = "new"
    assert (await stage.secrets.of_catalog(catalog()))["s3.secret-key"] == "new"
    renamed = SecretReference(name="keys", options={"s3.access-key": "other"})
    assert (await stage.secrets.of_catalog(catalog(renamed)))["s3.access-key"] == "beside"
    assert stage.hidden.values == {LAKE: {"beside"}}


@pytest.mark.asyncio
async def test_values_without_bound_are_refused() -> None:
    stage = Stage(Server(id="x" * MOST_CHARACTERS, secret="y"))
    with pytest.raises(InvalidOption) as caught:
        await stage.secrets.of_catalog(catalog())
    assert caught.value.option == "spec.secretRef.options"
    assert stage.hidden.values == {}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("server", "what"),
    [pytest.param(Server(), "Secret", id="no_secret"), pytest.param(Server(id="me"), "key", id="no_key")],
)
async def test_what_is_missing_is_named_and_noticed_as_soon_as_it_is_there(server: Server, what: str) -> None:
    stage = Stage(server)
    with pytest.raises(NotFound) as caught:
        await stage.secrets.of_catalog(catalog())
    assert caught.value.what == what
    server.values = {"id": "me", "secret": "hush"}
    assert await stage.secrets.of_catalog(catalog())


@pytest.mark.asyncio
@pytest.mark.parametrize("name", ["s3.secret-key", "fs.s3a.access.key", "token", "jdbc.password"])
async def test_credentials_in_the_catalog_itself_are_refused_by_their_field(name: str) -> None:
    """The API server refuses them; objects that it stored under an older definition have them still."""
    stage = Stage(Server(id="me", secret="hush"))
    with pytest.raises(InvalidOption) as caught:
        await stage.secrets.of_catalog(
            catalog(SecretReference(name="keys", options={"a": "id"}), **{name: "open sesame"})
        )
    assert caught.value.option == f'spec.options["{name}"] of the Catalog'
    assert "spec.secretRef" in str(caught.value)
    assert "sesame" not in str(caught.value)
    assert "open sesame" in stage.hidden.values[LAKE], "and what stands there is hidden from logs"


def test_a_catalog_becomes_options() -> None:
    spec = CatalogSpec(metastore="Rest", warehouse="lake", uri="http://rest", options={"token": "t"})
    found = catalog_options(spec, {"dlf.secret": "s"})
    assert found == {"metastore": "rest", "uri": "http://rest", "token": "t", "dlf.secret": "s"}
    assert catalog_options(CatalogSpec(warehouse="/w"), {}) == {"metastore": "filesystem"}


@pytest.mark.asyncio
async def test_the_secret_of_a_suspect_catalog_is_read_again_soon() -> None:
    server = Server(id="me", secret="hush")
    stage = Stage(server)
    await stage.secrets.of_catalog(catalog())
    stage.now = SUSPECT_SECONDS - 1
    await stage.secrets.of_catalog(catalog(), SUSPECT_SECONDS)
    assert server.gets == 1
    stage.now = SUSPECT_SECONDS
    await stage.secrets.of_catalog(catalog(), SUSPECT_SECONDS)
    assert server.gets == 2


@pytest.mark.asyncio
async def test_the_version_counts_changes_and_nothing_else() -> None:
    server = Server(id="me", secret="hush")
    stage = Stage(server)
    assert stage.secrets.version(LAKE) == 0
    for _ in range(3):
        await stage.secrets.of_catalog(catalog(), 0.0)
    assert stage.secrets.version(LAKE) == 1
    server.values["secret"] = "new"
    await stage.secrets.of_catalog(catalog(), 0.0)
    assert stage.secrets.version(LAKE) == 2
    kept, server.values = server.values, {}
    for _ in range(3):
        with pytest.raises(NotFound):
            await stage.secrets.of_catalog(catalog(), 0.0)
    assert stage.secrets.version(LAKE) == 2
    server.values = kept
    await stage.secrets.of_catalog(catalog(), 0.0)
    assert stage.secrets.version(LAKE) == 3, "a Secret that is there again has changed"
