"""Sends a draft to its place and finds out what is there, whether its sending was answered or not.

Called by `loop` in every try. Stores and catalogs answer late, twice, wrongly or not at all, so the place is
read whatever the answer was, and only what is found counts. A draft of unknown outcome is sent again
unchanged: at most one of its copies takes effect, and it does not matter which. This module deletes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from itertools import count
from typing import Any, Protocol, TypeVar

from lithify.engine.commit.patience import Backoff
from lithify.errors import CommitUnknown, StorageError

Draft = TypeVar("Draft", contravariant=True)

REPLACED = "another snapshot was put over ours"


class Place(Enum):
    """Outcome of publishing a draft.

    `OUTRUN`: another snapshot was first, and the draft never was in place, so the same outputs can be tried
    again. `LOST`: the draft was in place and is no longer, or may still arrive. Others may build on it, so
    its outputs must not be used again.
    """

    OURS = auto()
    OUTRUN = auto()
    LOST = auto()


@dataclass(frozen=True, slots=True)
class Published:
    """The result of publishing a draft.

    Attributes:
        place: the outcome.
        snapshot: the format's name of the snapshot; None unless it is ours.
        reason: why a lost one is lost, for people.
    """

    place: Place
    snapshot: Any = None
    reason: str = ""


class Found(Enum):
    """Content of the place of a draft: this draft, another snapshot, or none."""

    OURS = auto()
    OTHER = auto()
    NOTHING = auto()


class Sent(Enum):
    """Combined answer to all sendings of a draft.

    `REFUSED`: the only one was refused. `UNANSWERED`: one of them may take effect. `ACCEPTED`: one did.
    """

    REFUSED = auto()
    UNANSWERED = auto()
    ACCEPTED = auto()


class Next(Enum):
    """Next step for a draft whose outcome is unknown; `NOT_WRITTEN`: its write has certainly failed."""

    READ_AGAIN = auto()
    SEND_AGAIN = auto()
    NOT_WRITTEN = auto()


class Publisher(Protocol[Draft]):
    """How a format puts a draft in its place and reads the place. Drafts are opaque to the engine."""

    @property
    def can_arrive_late(self) -> bool:
        """Whether a draft may take effect after its sending seems to have failed."""
        ...

    def location(self, draft: Draft) -> str:
        """The place of a draft, for messages."""
        ...

    def publish(self, draft: Draft) -> bool:
        """Sends a draft once, if its base is still the newest snapshot; False if another one was first.

        At most one writer gets the place. A base that was rolled back counts as outrun, whatever its number.
        Any exception leaves the outcome open unless `is_refusal` says otherwise.
        """
        ...

    def is_refusal(self, error: Exception) -> bool:
        """Whether an error of `publish` says that the draft was not written and will not be."""
        ...

    def find_published(self, draft: Draft) -> Found:
        """Reads what is in the place of a draft that was sent; any exception means that it cannot be read."""
        ...

    def may_send_again(self, draft: Draft) -> bool:
        """Whether the base of a draft is still the newest snapshot.

        Raises:
            AttemptFenced: this attempt may not commit any more.
        """
        ...

    def confirm(self, draft: Draft) -> str | None:
        """Checks that a draft in its place is part of the table's history; the reason if it is not.

        A format whose catalog does not ensure this removes the draft from its place.
        """
        ...

    def verify(self, draft: Draft) -> Published:
        """Reads a confirmed snapshot once more, after what the format has to do for readers to find it.

        Raises:
            CommitUnknown: it cannot be read.
        """
        ...


def publish(publisher: Publisher[Draft], draft: Draft, backoff: Backoff) -> Published:
    """Sends a draft until its outcome is known; the snapshot's name is left to `Publisher.verify`.

    Raises:
        CommitUnknown: the outcome is still unknown after all retries; nothing may be deleted.
        LithifyError: the draft certainly is not in its place, and will not be.
    """
    location = publisher.location(draft)
    sending = _send(publisher, draft)
    with _in_doubt(location):
        end, failure = _settle(publisher, draft, backoff, sending)
        reason = publisher.confirm(draft) if end is Place.OURS else REPLACED
    if end is Next.NOT_WRITTEN:
        raise StorageError(location, f"the snapshot cannot be written ({failure})") from failure
    if end is Place.OUTRUN:
        return Published(Place.OUTRUN)
    return Published(Place.OURS) if reason is None else Published(Place.LOST, reason=reason)


def next_step(sent: Sent, found: Found | None, *, can_arrive_late: bool) -> Place | Next:
    """Decides from the answers to a draft and a read of its place; `found` is None if that read failed."""
    if found is None:
        return Next.READ_AGAIN
    if found is Found.OURS:
        return Place.OURS
    if sent is Sent.REFUSED:
        return Place.OUTRUN
    if found is Found.OTHER:
        return Place.LOST
    if sent is Sent.ACCEPTED:
        return Next.READ_AGAIN  # if it was in place and is gone, it was removed on purpose
    return Next.SEND_AGAIN if can_arrive_late else Next.NOT_WRITTEN


@dataclass(frozen=True, slots=True)
class _Sending:
    """The combined answer to all sendings of a draft, and the last error of a sending or a read."""

    sent: Sent
    failure: Exception | None = None


def _settle(
    publisher: Publisher[Draft], draft: Draft, backoff: Backoff, sending: _Sending
) -> tuple[Place | Next, Exception | None]:
    """The final outcome of a draft, and the last error before it."""
    for number in count():
        found, sending = _find(publisher, draft, sending)
        step = next_step(sending.sent, found, can_arrive_late=publisher.can_arrive_late)
        if isinstance(step, Place) or step is Next.NOT_WRITTEN:
            return step, sending.failure
        if number >= backoff.patience.max_retries:
            break
        backoff.wait(number)
        if step is Next.SEND_AGAIN:
            sending = _send_again(publisher, draft, sending)
    problem = "the snapshot was sent and is not there"
    if sending.failure is not None:
        problem = f"the snapshot was sent, and its outcome cannot be found out ({sending.failure})"
    raise CommitUnknown(publisher.location(draft), problem) from sending.failure


def _send(publisher: Publisher[Draft], draft: Draft) -> _Sending:
    """Sends a draft.

    Raises:
        Exception: it was refused; see `Publisher.is_refusal`.
        CommitUnknown: the process was interrupted.
    """
    try:
        return _Sending(Sent.ACCEPTED if publisher.publish(draft) else Sent.REFUSED)
    except Exception as error:
        if publisher.is_refusal(error):
            raise
        return _Sending(Sent.UNANSWERED, error)
    except BaseException as error:
        raise CommitUnknown(publisher.location(draft), f"interrupted by {error!r}") from error


def _send_again(publisher: Publisher[Draft], draft: Draft, before: _Sending) -> _Sending:
    """Sends an unanswered draft again if its base is still the newest snapshot.

    That a copy is refused says nothing of earlier ones, so an error of a refusal is passed on, to end the
    commit as unknown, and other answers than an acceptance leave the outcome open.
    """
    try:
        if not publisher.may_send_again(draft):
            return before
    except StorageError as error:
        return _Sending(Sent.UNANSWERED, error)
    again = _send(publisher, draft)
    return before if again.sent is Sent.REFUSED else again


def _find(publisher: Publisher[Draft], draft: Draft, sending: _Sending) -> tuple[Found | None, _Sending]:
    """Reads the place of a draft; None if that fails."""
    try:
        return publisher.find_published(draft), sending
    except Exception as error:  # noqa: BLE001  # whatever it was, the place is unknown
        return None, _Sending(sending.sent, error)


@contextmanager
def _in_doubt(location: str) -> Iterator[None]:
    """Turns every error and interruption into `CommitUnknown`, so that no caller deletes anything."""
    try:
        yield
    except CommitUnknown:
        raise
    except BaseException as error:
        problem = f"the snapshot was sent, and whether it is in place is unknown ({error!r})"
        raise CommitUnknown(location, problem) from error
