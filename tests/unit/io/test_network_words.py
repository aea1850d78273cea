"""Why there was no answer, in the network's own words, and never in those of a response."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest
import requests

from lithify.io.network_words import network_words, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('Os { code: 111, kind: ConnectionRefused, message: "Connection refused" }', "connection refused"),
        ('(2003, "Can\'t connect to MySQL server ([Errno 111] Connection refused)")', "connection refused"),
        ('"dns error", error: "failed to lookup address information"', "no such host"),
        ('could not translate host name "db" to address', "no such host"),
        ("reqwest::Error { kind: Request, source: TimedOut }", "timed out"),
        ("timeout expired", "timed out"),
        ("Os { code: 104, kind: ConnectionReset }", "connection reset by peer"),
        ("<html>welcome</html>", None),
    ],
)
def test_words_for_what_libraries_print(text: str, words: str | None) -> None:
    assert network_words(text) == words


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        return int(found.getsockname()[1])


@pytest.mark.parametrize(
    ("host", "words"), [("127.0.0.1", "connection refused"), ("nobody.invalid", "no such host")]
)
def test_words_for_errors_of_real_requests(host: str, words: str) -> None:
    with pytest.raises(requests.ConnectionError) as caught:
        requests.get(f"http://{host}:{free_port()}", timeout=5)
    assert words_of(caught.value) == words


def test_other_errors_have_no_words_of_the_network() -> None:
    assert words_of(ValueError("connection refused, says the response")) is None
