"""What an API server says is decoded whatever its depth: by us, and by kopf through our responses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from aiohttp import ClientSession, web
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.cluster.decoding import DEEPEST, decode, may_be_deep, shallow
from lithify.controller.cluster.responses import Lines, Response
from support.cases import case

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def nested(levels: int, opening: str = "[", closing: str = "]") -> str:
    return opening * levels + closing * levels


def depth_of(value: Any) -> int:
    found = 0
    while value:
        found, value = found + 1, next(iter(value.values())) if isinstance(value, dict) else value[0]
    return found


@given(JSON)
def test_what_is_not_too_deep_is_left_as_it_is(value: Any) -> None:
    text = json.dumps(value).encode()
    assert shallow(text) == text
    assert decode(text) == decode(text.decode()) == value


@given(
    JSON, JSON, st.integers(DEEPEST, 3000), st.sampled_from([("[", "]"), ('{"a":', "}"), ('[{"]}[":', "}]")])
)
def test_one_that_is_too_deep_costs_no_other(
    before: Any, after: Any, levels: int, marks: tuple[str, str]
) -> None:
    deep = nested(levels, marks[0], marks[1]).replace(":}", ":1}")
    text = f'{{"items": [{json.dumps(before)}, {deep}, {json.dumps(after)}]}}'
    found = json.loads(shallow(text.encode()))["items"]
    assert [found[0], found[2]] == [before, after]


@pytest.mark.parametrize("levels", [1_000, 10_000, 200_000])
@pytest.mark.parametrize("kind", [case(bytes, id="bytes"), case(str, id="text")])
def test_depth_is_cut_off(levels: int, kind: type) -> None:
    text = f'{{"a": {nested(levels)}, "b": 1}}'
    found = decode(text.encode() if kind is bytes else text)
    assert found["b"] == 1
    assert depth_of(found["a"]) < DEEPEST


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 5000, "]" * 5000, '{"a": "' + "[" * 5000, "<html>", '"' + "\\" * 4001]
)
def test_what_is_no_json_is_an_error_of_values(text: str) -> None:
    with pytest.raises(ValueError):
        decode(text)


def test_long_texts_take_little_time_and_no_stack() -> None:
    text = json.dumps({"a": '\\"[{' * 500_000, "b": [["x"]]}).encode()
    assert shallow(text) == text
    assert not may_be_deep(json.dumps({"a": "b"}).encode())


class Content:
    """What comes over a connection, in pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self.total_bytes = 7

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


@given(st.lists(st.integers(0, 40), max_size=6), st.data())
def test_lines_come_whole_and_in_order_however_they_are_cut(sizes: list[int], data: st.DataObject) -> None:
    texts = [json.dumps({"number": number, "x": "y" * size}) for number, size in enumerate(sizes)]
    whole = "".join(f"{text}\n" for text in texts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    async def read() -> bytes:
        lines: Any = Lines(Content(pieces))  # type: ignore[arg-type]
        assert lines.total_bytes == 7
        return b"".join([piece async for piece in lines.iter_chunked(10)])

    assert asyncio.run(read()) == whole


@pytest.mark.asyncio
async def test_kopf_reads_lists_and_lines_of_any_depth() -> None:
    deep = f'{{"object": {nested(9_000)}, "metadata": {{"name": "deep"}}}}'
    plain = '{"metadata": {"name": "plain"}}'

    async def listed(_: web.Request) -> web.Response:
        return web.Response(text=f'{{"items": [{deep}, {plain}]}}', content_type="application/json")

    async def watched(_: web.Request) -> web.Response:
        return web.Response(text=f"{deep}\n{plain}\n{deep}", content_type="application/json")

    app = web.Application()
    app.add_routes([web.get("/list", listed), web.get("/watch", watched)])
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0]
        async with ClientSession(f"http://{host}:{port}", response_class=Response) as session:
            async with session.get("/list") as response:
                items = (await response.json())["items"]
            async with session.get("/watch") as response:
                text = b"".join([piece async for piece in response.content.iter_chunked(1000)])
    finally:
        await runner.cleanup()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [each["metadata"]["name"] for each in items] == ["deep", "plain"]
    assert [each["metadata"]["name"] for each in lines] == ["deep", "plain", "deep"]
