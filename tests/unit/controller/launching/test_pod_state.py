"""What is made of the states that a driver's pod can be in."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.contract.outcome import (
    MOST_BYTES,
    Outcome,
    Progress,
    Stage,
    read_outcome,
    read_progress,
    write_outcome,
    write_progress,
)
from lithify.controller.driver import DriverPhase, Trouble
from lithify.controller.launching.pod import PodSettings, driver_pod
from lithify.controller.launching.pod_state import executors_text, state_of
from lithify.errors import Failure
from lithify.resources.compaction import PlanSummary, Reason, ResultSummary
from lithify.resources.modelling import plain
from lithify.resources.names import ANNOTATION_PROGRESS
from lithify.resources.table import BucketBlock
from support.cases import case
from support.launching.orders import ORDER, order

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
STARTED = "2026-05-04T11:00:00Z"
OUTCOME = Outcome(run=ORDER.uid, attempt=1, reason=Reason.COMPACTED, committed_snapshot_id="7")


def pod(status: dict[str, Any], *, node: str | None = "node-1", **metadata: Any) -> dict[str, Any]:
    made = driver_pod(order(), PodSettings(image="lithify:1"))
    made["metadata"].update({"uid": "pod-uid", **metadata})
    if node is not None:
        made["spec"]["nodeName"] = node
    return {**made, "status": status}


def container(phase: str, *, name: str = "lithify", **state: Any) -> dict[str, Any]:
    return {"phase": phase, "containerStatuses": [{"name": name, "state": state}]}


def waiting(reason: str, message: str = "said so") -> dict[str, Any]:
    return container("Pending", waiting={"reason": reason, "message": message})


def ended(code: int, reason: str = "Error", message: str = "", **status: Any) -> dict[str, Any]:
    state = {"exitCode": code, "reason": reason, "message": message, "startedAt": STARTED}
    return {**container("Succeeded" if code == 0 else "Failed", terminated=state), **status}


def condition(kind: str, value: str, reason: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": value, "reason": reason, "message": "said so"}]}


STARTING, RUNNING, ENDED = DriverPhase.STARTING, DriverPhase.RUNNING, DriverPhase.ENDED
RUNS = container("Running", running={"startedAt": STARTED})
UNSCHEDULABLE = condition("PodScheduled", "False", "Unschedulable")
EVICTED = condition("DisruptionTarget", "True", "EvictionByEvictionAPI")


@pytest.mark.parametrize(
    ("statuses", "said"),
    [
        case([], "no pods", id="none yet"),
        case([{}], "", id="nobody has said anything"),
        case([{}, UNSCHEDULABLE], "Unschedulable: said so", id="no room for one"),
        case(
            [container("Pending", waiting={"reason": "ErrImagePull", "message": "401"})], "401", id="no image"
        ),
        case(["mad", UNSCHEDULABLE], "Unschedulable", id="a status that is none"),
    ],
)
def test_why_no_executor_has_started(statuses: list[Any], said: str) -> None:
    text = executors_text({"status": status} for status in statuses)
    assert said in text
    assert bool(said) == bool(text)


@pytest.mark.parametrize(
    ("status", "phase", "trouble"),
    [
        case({}, STARTING, None, id="no status yet"),
        case({"phase": "Pending"}, STARTING, None, id="pending"),
        case({"phase": "Pending", **UNSCHEDULABLE}, STARTING, Trouble.UNSCHEDULABLE, id="no room"),
        case(
            condition("PodScheduled", "False", "SchedulingGated"), STARTING, None, id="just let go by a gate"
        ),
        case(waiting("ContainerCreating"), STARTING, None, id="being created"),
        case(waiting("ErrImagePull"), STARTING, Trouble.IMAGE, id="image cannot be pulled"),
        case(waiting("ImagePullBackOff"), STARTING, Trouble.IMAGE, id="image is tried again"),
        case(waiting("InvalidImageName"), STARTING, Trouble.IMAGE, id="image has no name"),
        case(waiting("ErrImageNeverPull"), STARTING, Trouble.IMAGE, id="image may not be pulled"),
        case(waiting("CreateContainerConfigError"), STARTING, Trouble.CONFIGURATION, id="no such key"),
        case(waiting("CreateContainerError"), STARTING, Trouble.CONFIGURATION, id="no such command"),
        case(RUNS, RUNNING, None, id="running"),
        case({**RUNS, **EVICTED}, RUNNING, None, id="about to be evicted"),
        case({**RUNS, "phase": "Unknown"}, RUNNING, Trouble.UNREACHABLE, id="unknown"),
        case({**RUNS, "reason": "NodeLost"}, RUNNING, Trouble.UNREACHABLE, id="node lost"),
        case(ended(137, "OOMKilled"), ENDED, Trouble.OUT_OF_MEMORY, id="out of memory"),
        case(ended(128, "StartError"), ENDED, Trouble.CONFIGURATION, id="could not be started"),
        case(ended(137), ENDED, Trouble.DISRUPTED, id="killed"),
        case(ended(143), ENDED, Trouble.DISRUPTED, id="terminated"),
        case(ended(137, **EVICTED), ENDED, Trouble.DISRUPTED, id="evicted by request"),
        case(
            ended(1, **condition("TerminationTarget", "True", "Preempted")),
            ENDED,
            Trouble.DISRUPTED,
            id="taken back by its queue",
        ),
        case({"phase": "Failed", "reason": "Evicted"}, ENDED, Trouble.DISRUPTED, id="evicted by its node"),
        case({"phase": "Failed", "reason": "OutOfcpu"}, ENDED, Trouble.DISRUPTED, id="not admitted"),
        case({"phase": "Failed"}, ENDED, Trouble.DISRUPTED, id="failed without a word"),
        case(ended(1), ENDED, None, id="failed by itself"),
        case(ended(0), ENDED, None, id="ended well without an outcome"),
    ],
)
def test_phase_and_trouble(status: dict[str, Any], phase: DriverPhase, trouble: Trouble | None) -> None:
    state = state_of(pod(status), NOW)
    assert (state.phase, state.trouble, state.outcome) == (phase, trouble, None)
    assert bool(state.message) == (trouble is not None or phase is ENDED)
    assert (state.name, state.uid, state.owner_uid) == ("orders-1-x7k2p-lithify", "pod-uid", ORDER.uid)
    assert (state.attempt, state.released, state.terminating) == (1, False, False)


def test_held_back_by_a_queue() -> None:
    gated = pod({"phase": "Pending", **condition("PodScheduled", "False", "SchedulingGated")}, node=None)
    gated["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    state = state_of(gated, NOW)
    assert (state.phase, state.trouble) == (STARTING, Trouble.GATED)
    assert "kueue.x-k8s.io/admission" in state.message


@pytest.mark.parametrize(
    ("status", "node", "since", "phase", "trouble"),
    [
        case({"phase": "Pending"}, None, "11:59:59", ENDED, Trouble.DISRUPTED, id="never had a node"),
        case({"phase": "Pending"}, "n", "12:00:20", STARTING, None, id="its node is told"),
        case(RUNS, "n", "11:59:31", RUNNING, None, id="its time of grace is just over"),
        case(RUNS, "n", "11:59:29", RUNNING, Trouble.UNREACHABLE, id="its node does not answer"),
        case(ended(143), "n", "11:00:00", ENDED, Trouble.DISRUPTED, id="ended"),
    ],
)
def test_a_deleted_pod_is_terminating(
    status: dict[str, Any], node: str | None, since: str, phase: DriverPhase, trouble: Trouble | None
) -> None:
    deleted = pod(status, node=node, deletionTimestamp=f"2026-05-04T{since}Z")
    state = state_of(deleted, NOW)
    assert (state.phase, state.trouble, state.terminating) == (phase, trouble, True)


@pytest.mark.parametrize(
    "status",
    [
        case(ended(0, "Completed", write_outcome(OUTCOME)), id="ended well"),
        case(ended(137, "OOMKilled", write_outcome(OUTCOME)), id="killed after its last words"),
        case(ended(137, "Error", write_outcome(OUTCOME), **EVICTED), id="evicted after its last words"),
        case({**ended(0, "Completed", write_outcome(OUTCOME)), "phase": "Running"}, id="beside a sidecar"),
    ],
)
def test_outcome_alone_counts(status: dict[str, Any]) -> None:
    state = state_of(pod(status), NOW)
    assert (state.phase, state.outcome, state.trouble) == (ENDED, OUTCOME, None)
    assert state.started == datetime(2026, 5, 4, 11, tzinfo=UTC)


def test_progress_and_start() -> None:
    progress = Progress(stage=Stage.RUNNING, done=3, total=9)
    state = state_of(pod(RUNS, annotations={ANNOTATION_PROGRESS: write_progress(progress)}), NOW)
    assert (state.progress, state.started) == (progress, datetime(2026, 5, 4, 11, tzinfo=UTC))
    assert state_of(pod(RUNS, annotations={ANNOTATION_PROGRESS: "{"}), NOW).progress is None


def test_released_and_not_ours() -> None:
    assert state_of(pod(RUNS, finalizers=["other"]), NOW).released
    foreign = pod(RUNS, ownerReferences=[], labels={"lithify.dev/attempt": "second"})
    state = state_of(foreign, NOW)
    assert (state.owner_uid, state.attempt) == ("", 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
TIMES = st.sampled_from(
    [
        STARTED,
        "33658-09-27T01:46:40Z",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00Z",
        "2026-05-04",
        "soon",
        "",
    ]
)
ODD = JSON | TIMES
FIELDS_OF_A_POD = {
    "metadata": [
        *("name", "uid", "labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")
    ],
    "spec": ["nodeName", "schedulingGates"],
    "status": [
        *("phase", "reason", "message", "conditions", "containerStatuses", "initContainerStatuses"),
        *("startTime", "podIP"),
    ],
}


@st.composite
def odd_pods(draw: st.DrawFn) -> dict[str, Any]:
    """A pod of ours, parts of which were replaced by something else."""
    status = draw(st.sampled_from([RUNS, ended(1), waiting("ErrImagePull"), {}]))
    made: dict[str, Any] = pod(dict(status))
    for part, fields in FIELDS_OF_A_POD.items():
        for name in draw(st.lists(st.sampled_from(fields), max_size=3)):
            made[part][name] = draw(ODD)
        if draw(st.integers(0, 9)) == 0:
            made[part] = draw(JSON)
    if isinstance(made["status"], dict) and draw(st.booleans()):
        state = draw(st.dictionaries(st.sampled_from(["running", "waiting", "terminated"]), times_and_more()))
        made["status"]["containerStatuses"] = [{"name": "lithify", "state": draw(st.just(state) | JSON)}]
    return made


def times_and_more() -> st.SearchStrategy[dict[str, Any]]:
    names = ["startedAt", "finishedAt", "reason", "message", "exitCode"]
    return st.dictionaries(st.sampled_from(names), ODD)


def test_when_a_driver_ended_is_what_its_container_says() -> None:
    status = ended(0)
    assert state_of(pod(status), NOW).finished is None
    status["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = "2026-05-04T11:01:34Z"
    assert state_of(pod(status), NOW).finished == datetime(2026, 5, 4, 11, 1, 34, tzinfo=UTC)
    assert state_of(pod(RUNS), NOW).finished is None


@given(made=odd_pods())
def test_any_pod_has_some_state(made: dict[str, Any]) -> None:
    state = state_of(made, NOW)
    assert isinstance(state.message, str)
    assert state.started is None or state.started.tzinfo is not None


@pytest.mark.parametrize(
    ("deleted", "trouble"),
    [
        case("33658-09-27T01:46:40Z", None, id="a time of grace beyond the calendar"),
        case("9999-12-31T23:59:59Z", None, id="the last second of the calendar"),
        case("0001-01-01T00:00:00Z", Trouble.UNREACHABLE, id="its first second"),
    ],
)
def test_deleted_at_an_odd_time(deleted: str, trouble: Trouble | None) -> None:
    state = state_of(pod(RUNS, deletionTimestamp=deleted), NOW)
    assert (state.phase, state.terminating, state.trouble) == (RUNNING, True, trouble)


@pytest.mark.parametrize("label", ["²", "9" * 63, "-1", "second"])
def test_label_that_is_no_attempt(label: str) -> None:
    assert state_of(pod(RUNS, labels={"lithify.dev/attempt": label}), NOW).attempt == 0


NO_OUTCOMES = [
    case("[" * 4000, id="nested in brackets"),
    case('{"a":' * 800, id="nested in braces"),
    case("[" * 200_000, id="nested, and longer than any"),
    case('{"run":"r","attempt":1,"reason":"Compacted","message":"' + "x" * 5000 + '"}', id="too long"),
    case('{"run":"r","attempt":1,"reason":"Compacted","blockedCount":NaN}', id="NaN"),
    case('{"run":"r","attempt":1,"reason":"Compacted","blockedCount":Infinity}', id="infinity"),
    case('{"run":"r","attempt":1,"reason":"Compacted","blockedCount":1e400}', id="an infinite number"),
    case('{"run":"r","attempt":1,"reason":"Compacted","blockedCount":' + "9" * 4000 + "}", id="many digits"),
    case('{"run":"r","attempt":1,"reason":"Compacted","blockedCount":"9"}', id="a number in quotes"),
    case('{"run":"r","attempt":1,"reason":"Compacted","blockedCount":-1}', id="a negative count"),
    case('{"run":"r","attempt":-1,"reason":"Compacted"}', id="a negative attempt"),
    case(
        '{"run":"r","attempt":1,"reason":"Compacted","result":{"inputBytes":9223372036854775808}}',
        id="64 bits",
    ),
    case('{"run":"r","attempt":1,"reason":"Compacted","message":"\\ud800"}', id="an escaped lone surrogate"),
    case('{"run":"r","attempt":1,"reason":"Compacted","message":"\ud800"}', id="a lone surrogate"),
    case('{"run":"r","attempt":1,"reason":"Won"}', id="a reason that there is not"),
    case("null", id="null"),
    case("", id="empty"),
]


@pytest.mark.parametrize("text", NO_OUTCOMES)
def test_what_is_no_outcome(text: str) -> None:
    assert read_outcome(text) is None
    state = state_of(pod(ended(0, "Completed", text)), NOW)
    assert (state.phase, state.outcome, state.trouble) == (ENDED, None, None)
    assert ("cannot be read" in state.message) == bool(text)


@pytest.mark.parametrize(
    "text",
    [
        case("[" * 200_000, id="nested, and longer than any"),
        case("[" * 4000, id="nested"),
        case('{"stage":"Running","done":-1}', id="less than nothing done"),
        case('{"stage":"Running","total":' + "9" * 4000 + "}", id="many digits"),
        case('{"stage":"\\udc00"}', id="a lone surrogate"),
        case('{"stage":"Sleeping"}', id="a stage that there is not"),
    ],
)
def test_what_is_no_progress(text: str) -> None:
    assert read_progress(text) is None
    state = state_of(pod(RUNS, annotations={ANNOTATION_PROGRESS: text}), NOW)
    assert (state.phase, state.progress) == (RUNNING, None)


LETTERS = st.sampled_from(
    [*'[]{}":,0123456789eE+-. \\', "NaN", "Infinity", "null", "\\ud800", "\ud800", "\0"]
)
ENTRIES = st.one_of(JSON, st.integers(-(10**30), 10**30), st.sampled_from(Reason).map(str))


def _undecoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


@given(
    text=st.text(max_size=400)
    | st.lists(LETTERS, max_size=400).map("".join)
    | st.binary(max_size=400).map(_undecoded)
)
def test_any_text_is_read_or_is_nothing(text: str) -> None:
    read_outcome(text)
    read_progress(text)


NAMES_OF_FIELDS = st.sampled_from(
    [
        *("run", "attempt", "reason", "failure", "message", "plan", "result", "blocked", "blockedCount"),
        *("baseSnapshotId", "stage", "done", "total", "inputBytes", "buckets"),
    ]
)


@given(fields=st.dictionaries(NAMES_OF_FIELDS, ENTRIES), inner=st.dictionaries(NAMES_OF_FIELDS, ENTRIES))
def test_whatever_is_read_can_be_written_into_status(
    fields: dict[str, object], inner: dict[str, object]
) -> None:
    body = {"run": "r", "attempt": 1, "reason": "Compacted", "stage": "Running", "result": inner, **fields}
    text = json.dumps(body)
    for found in (read_outcome(text), read_progress(text)):
        if found is not None:
            written = json.dumps(plain(found), ensure_ascii=False, allow_nan=False).encode()
            assert all(abs(number) < 2**63 for number in numbers_in(json.loads(written)))


def numbers_in(value: object) -> list[int]:
    if isinstance(value, dict):
        return [number for entry in value.values() for number in numbers_in(entry)]
    if isinstance(value, list):
        return [number for entry in value for number in numbers_in(entry)]
    return [value] if isinstance(value, int) else []


TEXT = st.text(max_size=2000) | st.sampled_from(
    ["\x00" * 1500, '"' * 1500, "😀" * 1500, "\ud7ff\u2028" * 900]
)
COUNTS = st.integers(0, 2**63 - 1)


@given(
    message=TEXT,
    samples=st.lists(TEXT.map(lambda text: text[:512]), max_size=5),
    failure=st.none() | st.sampled_from(Failure),
    count=COUNTS,
    plan=st.booleans(),
    run=st.text("0123456789abcdef-", min_size=1, max_size=63),
    blocked=st.lists(
        st.builds(
            BucketBlock,
            bucket=TEXT.map(lambda text: text[:400]),
            reason=st.just("CorruptFiles"),
            message=TEXT.map(lambda text: text[:160]),
            fingerprint=st.just("0123456789abcdef"),
        ),
        max_size=16,
    ),
)
def test_outcome_fits_into_a_termination_message_whatever_it_says(
    message: str,
    samples: list[str],
    failure: Failure | None,
    count: int,
    plan: bool,
    run: str,
    blocked: list[BucketBlock],
) -> None:
    numbers = {"buckets": count, "tasks": count, "files": count, "bytes": count, "upgraded_files": count}
    outcome = Outcome(
        run=run,
        attempt=3,
        reason=Reason.COMPACTED,
        failure=failure,
        message=message,
        plan=PlanSummary(**numbers) if plan else None,  # type: ignore[arg-type]
        result=ResultSummary(
            input_files=count,
            output_files=count,
            input_bytes=count,
            output_bytes=count,
            input_rows=count,
            output_rows=count,
            skipped_samples=tuple(samples),
            recovered=plan,
        ),
        base_snapshot_id="1",
        committed_snapshot_id="2",
        blocked=tuple(blocked),
        blocked_count=len(blocked),
    )
    text = write_outcome(outcome)
    found = read_outcome(text)
    assert len(text.encode()) <= MOST_BYTES
    assert found is not None
    assert (found.run, found.reason, found.failure, found.plan) == (
        run,
        outcome.reason,
        failure,
        outcome.plan,
    )
    assert found.result is not None
    assert found.result.input_bytes == count
    assert outcome.message.startswith(found.message)
    assert found.blocked_count == len(blocked)
    kept = [(block.bucket, block.fingerprint) for block in found.blocked]
    assert kept == [(block.bucket, block.fingerprint) for block in blocked[: len(kept)]]


def test_blocked_buckets_of_usual_length_all_fit_into_a_termination_message() -> None:
    """Each one that is left out would be tried again in vain; rather nothing is said about it."""
    paths = [f"region=emea/dt=2026-01-{day:02}/hr=12/bucket-{day}" for day in range(1, 17)]
    problem = "data-0d6e0aa5-7d1c-4c5c-8a38-b7a4a5e7ff28-0.parquet: the file does not exist " * 2
    outcome = Outcome(
        run="0123456789abcdef-0123456789abcdef-63",
        attempt=3,
        reason=Reason.COMPACTED,
        message="m" * 1024,
        result=ResultSummary(skipped_buckets=16, skipped_samples=tuple(problem[:160] for _ in range(5))),
        blocked=tuple(
            BucketBlock(bucket=path, reason="CorruptFiles", message=problem[:160], fingerprint="0" * 16)
            for path in paths
        ),
        blocked_count=16,
    )
    text = write_outcome(outcome)
    found = read_outcome(text)
    assert len(text.encode()) <= MOST_BYTES
    assert found is not None
    assert [block.bucket for block in found.blocked] == paths


def test_a_name_that_is_no_unicode_can_still_be_told() -> None:
    found = read_outcome(write_outcome(replace(OUTCOME, message="data-\udcff.orc is broken")))
    assert found is not None
    assert found.message == "data-?.orc is broken"
