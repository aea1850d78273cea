"""Parts that all resources share: metadata, references, conditions.

Used by the models of the four kinds and by the controller that writes their status.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field, JsonValue

from lithify.resources.modelling import MESSAGE_LENGTH, NAME_LENGTH, Time, matching, part
from lithify.resources.names import ObjectKey

READY = "Ready"
RECONCILING = "Reconciling"
STALLED = "Stalled"
"""Types of conditions that several kinds have; the last two are those of kstatus."""
UNREADABLE = "Unreadable"
"""The reason of Ready, and of an Event, where an object cannot be read."""
OBJECT_NAME = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
NAME_FORM = (
    "the name of an object has lower-case letters, digits, - and ., and begins and ends with a letter or "
    "digit, such as nightly-2"
)


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@part()
class Condition:
    """One aspect of an object's state."""

    type: str = Field(description="Type of the condition.", min_length=1, max_length=63)
    status: ConditionStatus = Field(description="Whether it holds.")
    reason: str = matching(
        r"^[A-Z][A-Za-z0-9]*$",
        "a reason is one word of letters and digits that begins with a capital letter, such as NotReady",
        description="Reason, a word from a closed list.",
        min_length=1,
        max_length=63,
    )
    message: str = Field(default="", description="Why, for people.", max_length=4096)
    last_transition_time: Time = Field(description="When the status last changed.")
    observed_generation: int | None = Field(
        default=None, description="The generation of the spec that this refers to.", ge=0
    )


CONDITIONS: dict[str, JsonValue] = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
"""How Kubernetes merges lists of conditions."""


@part()
class Reference:
    """Names an object in the same namespace."""

    name: str = matching(
        OBJECT_NAME, NAME_FORM, description="Its name.", min_length=1, max_length=NAME_LENGTH
    )


@part()
class Owner:
    """One of an object's owners."""

    kind: str
    name: str
    uid: str
    controller: bool = False


@part()
class Metadata:
    """The part of an object's metadata that the controller reads."""

    name: str
    namespace: str
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    labels: Mapping[str, str] = Field(default_factory=dict)
    annotations: Mapping[str, str] = Field(default_factory=dict)
    owner_references: tuple[Owner, ...] = ()

    @property
    def key(self) -> ObjectKey:
        """The object's key."""
        return ObjectKey(self.namespace, self.name)


def shortened(text: str, length: int = MESSAGE_LENGTH) -> str:
    """A text cut to the length of its field."""
    return text if len(text) <= length else text[: length - 1] + "…"


def condition_of(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """The condition of a type."""
    return next((condition for condition in conditions if condition.type == kind), None)


def with_condition(conditions: tuple[Condition, ...], new: Condition) -> tuple[Condition, ...]:
    """The conditions with one of them set; the time changes only with its status.

    The message is cut to `MESSAGE_LENGTH`.
    """
    old = condition_of(conditions, new.type)
    since = old.last_transition_time if old and old.status == new.status else new.last_transition_time
    kept = Condition(
        type=new.type,
        status=new.status,
        reason=new.reason,
        message=shortened(new.message),
        last_transition_time=since,
        observed_generation=new.observed_generation,
    )
    if old is None:
        return (*conditions, kept)
    return tuple(kept if condition.type == new.type else condition for condition in conditions)


def without_condition(conditions: tuple[Condition, ...], kind: str) -> tuple[Condition, ...]:
    """The conditions without that of a type."""
    return tuple(condition for condition in conditions if condition.type != kind)
