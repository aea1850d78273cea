"""Tables of a catalog whose endpoint takes connections and answers nothing, beside all others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lithify.controller.api import Api
from lithify.resources.names import CATALOG, SECRET, ObjectKey
from many_tables.objects import create_tables, delete_tables, made

NAME = "dead"


@asynccontextmanager
async def dead_tables(api: Api, namespace: str, count: int) -> AsyncIterator[None]:
    """Puts tables of a dead catalog under care, and takes them away again."""
    async with _silence() as uri:
        key = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": NAME},
            "stringData": {"token": "sesame"},
        }
        await api.create(SECRET, namespace, key)
        keys = {"name": NAME, "options": {"token": "token"}}
        spec = {"metastore": "Rest", "uri": uri, "options": {"token.provider": "bear"}, "secretRef": keys}
        await api.create(CATALOG, namespace, made(CATALOG, NAME, {"warehouse": "w", **spec}))
        identifiers = [f"{NAME}.t{number}" for number in range(count)]
        names = await create_tables(api, namespace, NAME, identifiers)
        try:
            yield
        finally:
            await delete_tables(api, namespace, names)
            await api.delete(CATALOG, ObjectKey(namespace, NAME))
            await api.delete(SECRET, ObjectKey(namespace, NAME))


@asynccontextmanager
async def _silence() -> AsyncIterator[str]:
    """The address of an endpoint that accepts, reads and never answers."""

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.read(1 << 16):
                pass
        finally:
            writer.close()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
