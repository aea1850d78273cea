"""The network's own words for why there was no answer: connection refused, no such host, timed out.

Used wherever errors of network libraries become ours. The libraries' messages are never repeated, because
they may quote a response; only the words of this module leave it. Pure.
"""

from __future__ import annotations

import os
import re
import socket
import ssl

NO_SUCH_HOST = "no such host"
TIMED_OUT = "timed out"

_PHRASES = tuple(
    (re.compile(phrase, re.IGNORECASE), words)
    for phrase, words in (
        (r"connection ?refused", "connection refused"),
        (
            r"dns error|failed to lookup address|name or service not known|could not translate host",
            NO_SUCH_HOST,
        ),
        (r"connection ?reset", "connection reset by peer"),
        (r"network ?(is )?unreachable", "network is unreachable"),
        (r"no route to host|host ?unreachable", "no route to host"),
        (r"certificate", "its certificate cannot be verified"),
        (r"timed ?out|timeout expired", TIMED_OUT),
    )
)
"""What libraries print, in texts and in names of their errors' kinds; the first that is found counts."""


def network_words(text: str) -> str | None:
    """The words for a library's message about an unanswered request; None if it names no known cause."""
    return next((words for phrase, words in _PHRASES if phrase.search(text)), None)


def words_of(error: BaseException) -> str | None:
    """The words for an error by its class and those of its causes; None if none of them is the network's."""
    chain = causes(error)
    for one in chain:
        if isinstance(one, ssl.SSLCertVerificationError):
            return f"its certificate cannot be verified: {one.verify_message}"
        if isinstance(one, socket.gaierror):
            return NO_SUCH_HOST
        if isinstance(one, TimeoutError):
            return TIMED_OUT
    numbers = [one.errno for one in chain if isinstance(one, OSError) and one.errno]
    if not numbers:
        return None
    words = os.strerror(numbers[-1])
    return words[:1].lower() + words[1:]


def causes(error: BaseException) -> list[BaseException]:
    """An error and its causes, outermost first."""
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in chain:
        chain.append(following)
        following = following.__cause__ or following.__context__
    return chain
