"""For every validation rule of our resources an object that keeps it and one that breaks it.

The same table is sent to a real API server and to our own `validating`, which must agree. Messages are
written out again here, since they are what people read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lithify.resources.crd import DEFINITIONS, schema_of
from lithify.resources.modelling import RULES
from lithify.resources.names import CATALOG, COMPACTION, LAKE_TABLE, POLICY, ResourceKind

Spec = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RuleCase:
    """Two objects that differ in whether they keep a rule.

    Attributes:
        id: names the case.
        kind: of the objects.
        node: where the rule stands in the schema, such as `spec.windows[]`; empty for the whole object.
        field: what the API server says is wrong, such as `spec.windows[0]`.
        message: what it says about that.
        good: the spec that keeps the rule.
        bad: the spec that breaks it.
        before: the spec that both are a change of; None for new objects.
        good_name: the name of the object that keeps the rule.
        bad_name: the name of the other one; None for the same.
    """

    id: str
    kind: ResourceKind
    node: str
    field: str
    message: str
    good: Spec
    bad: Spec
    before: Spec | None = None
    good_name: str | None = None
    bad_name: str | None = None

    def object(self, spec: Spec, name: str | None = None) -> dict[str, Any]:
        """An object of the kind."""
        return {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.name,
            "metadata": {"name": name or self.id},
            "spec": dict(spec),
        }

    @property
    def key(self) -> tuple[str, str, str]:
        """Which rule it is about."""
        return self.kind.name, self.node, self.message


def rules() -> Iterator[tuple[str, str, str]]:
    """All rules of all kinds, as `RuleCase.key` names them, but for those of status."""
    for definition in DEFINITIONS:
        for node, rule in _within(schema_of(definition), ""):
            if not node.startswith("status"):
                yield definition.kind.name, node, rule["message"]


def _within(schema: Mapping[str, Any], node: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    for rule in schema.get(RULES, ()):
        yield node, rule
    for name, child in schema.get("properties", {}).items():
        yield from _within(child, f"{node}.{name}" if node else name)
    if "items" in schema:
        yield from _within(schema["items"], f"{node}[]")
    if "additionalProperties" in schema:
        yield from _within(schema["additionalProperties"], f"{node}[]")


def _named(kind: ResourceKind, most: int, spec: Spec) -> RuleCase:
    return RuleCase(
        id=f"{kind.name.lower()}-name",
        kind=kind,
        node="",
        field="metadata.name",
        message=f"the name of a {kind.name} has at most {most} characters",
        good=spec,
        bad=spec,
        good_name="n" * most,
        bad_name="n" * (most + 1),
    )


FILES: Spec = {"warehouse": "/data/lake"}
REST: Spec = {
    "metastore": "Rest",
    "warehouse": "lake",
    "uri": "https://catalog:8080",
    "options": {"token.provider": "bear"},
    "secretRef": {"name": "catalog", "options": {"token": "token"}},
}
JDBC: Spec = {"metastore": "Jdbc", "warehouse": "s3://lake/tables", "uri": "jdbc:postgresql://db/catalog"}
ICEBERG: Spec = {"format": "Iceberg", "metastore": "Rest", "warehouse": "lake", "uri": "https://catalog:8080"}
ICEBERG_JDBC: Spec = {**JDBC, "format": "Iceberg", "options": {"catalog-name": "lake"}}
HIVE: Spec = {**ICEBERG_JDBC, "metastore": "Hive", "uri": "thrift://hive:9083", "options": {}}
GLUE: Spec = {"format": "Iceberg", "metastore": "Glue", "warehouse": "s3://lake/tables"}
KEYED_JDBC: Spec = {**ICEBERG_JDBC, "format": "MixedIceberg"}
KEYED_NAME = "a Jdbc catalog of keyed tables needs the option catalog-name: the name by which writers open it"
ICEBERG_NAME = "a Jdbc catalog needs the option catalog-name: the name by which writers open it"
PAIMON_STORES = "the metastore of a catalog of the format Paimon is Filesystem, Rest or Jdbc"
URI_NEEDED = (
    "uri is required for the metastores Rest, Jdbc and Hive, and has no meaning for Filesystem and Glue"
)
TWICE = "an option stands either in options or in secretRef.options, not in both"
WAREHOUSE = (
    "the warehouse of a Filesystem, Jdbc, Hive or Glue catalog is an absolute path or a URI such as "
    "s3://bucket/path"
)
PROVIDER = "a Rest catalog needs the option token.provider, which is bear"
TOKEN = "the token.provider bear needs the option token, from a Secret: see spec.secretRef.options"
CREDENTIALS = (
    "credentials belong into a Secret: remove them here, and name the Secret and its keys in spec.secretRef"
)
OBJECT_NAME = (
    "the name of an object has lower-case letters, digits, - and ., and begins and ends with a letter or "
    "digit, such as nightly-2"
)
PATTERN = "a pattern is written database.table, with * and ? for what may differ, such as sales.* or *.orders"
OPTION_NAMES = "names of options have 1 to 128 characters"
OWN_FIELDS = "metastore, uri and warehouse are fields of the spec, not options"


def _form(
    name: str, kind: ResourceKind, node: str, message: str, spec: Callable[[str], Spec], good: str, bad: str
) -> RuleCase:
    """A case of a text's form; `spec` makes a spec that has the text at the node."""
    return RuleCase(name, kind, node, node.replace("[]", "[0]"), message, spec(good), spec(bad))


def _options(owner: str, name: str) -> Spec:
    if owner == "plain":
        return _with(FILES, options={name: "value"})
    return _with(FILES, secretRef={"name": "credentials", "options": {name: "key"}})


def _with(spec: Spec, **fields: object) -> Spec:
    return {**spec, **fields}


def _without(spec: Spec, *names: str) -> Spec:
    return {name: value for name, value in spec.items() if name not in names}


CATALOGS = (
    _named(CATALOG, 200, FILES),
    RuleCase("uri-missing", CATALOG, "spec", "spec.uri", URI_NEEDED, JDBC, _without(JDBC, "uri")),
    RuleCase(
        "uri-of-files",
        CATALOG,
        "spec",
        "spec.uri",
        URI_NEEDED,
        FILES,
        _with(FILES, uri="https://catalog:8080"),
    ),
    RuleCase(
        "uri-of-rest",
        CATALOG,
        "spec",
        "spec.uri",
        "the uri of a Rest catalog begins with http:// or https://",
        _with(REST, uri="http://catalog"),
        _with(REST, uri="ftp://catalog"),
    ),
    RuleCase(
        "uri-of-jdbc",
        CATALOG,
        "spec",
        "spec.uri",
        "the uri of a Jdbc catalog begins with jdbc:",
        JDBC,
        _with(JDBC, uri="postgresql://db/catalog"),
    ),
    *(
        RuleCase(f"iceberg-{name}", CATALOG, "spec", f"spec.{field}", message, good, bad)
        for name, field, message, good, bad in (
            ("uri-missing", "uri", URI_NEEDED, HIVE, _without(HIVE, "uri")),
            ("uri-of-glue", "uri", URI_NEEDED, GLUE, _with(GLUE, uri="https://glue")),
            (
                "uri-of-rest",
                "uri",
                "the uri of a Rest catalog begins with http:// or https://",
                ICEBERG,
                _with(ICEBERG, uri="ftp://catalog"),
            ),
            (
                "uri-of-jdbc",
                "uri",
                "the uri of a Jdbc catalog begins with jdbc:",
                ICEBERG_JDBC,
                _with(ICEBERG_JDBC, uri="postgresql://db/catalog"),
            ),
            (
                "uri-of-hive",
                "uri",
                "the uri of a Hive catalog begins with thrift://",
                HIVE,
                _with(HIVE, uri="http://hive:9083"),
            ),
            ("warehouse-relative", "warehouse", WAREHOUSE, HIVE, _with(HIVE, warehouse="lake")),
            ("jdbc-without-name", "options", ICEBERG_NAME, ICEBERG_JDBC, _without(ICEBERG_JDBC, "options")),
            ("keyed-without-name", "options", KEYED_NAME, KEYED_JDBC, _without(KEYED_JDBC, "options")),
            ("metastore-of-paimon", "metastore", PAIMON_STORES, HIVE, _with(HIVE, format="Paimon")),
        )
    ),
    RuleCase(
        "option-twice",
        CATALOG,
        "spec",
        "spec.options",
        TWICE,
        _with(FILES, options={"a": "1"}, secretRef={"name": "s", "options": {"b": "key"}}),
        _with(FILES, options={"a": "1"}, secretRef={"name": "s", "options": {"a": "key"}}),
    ),
    RuleCase(
        "warehouse-relative",
        CATALOG,
        "spec",
        "spec.warehouse",
        WAREHOUSE,
        {"warehouse": "s3://bucket/path"},
        {"warehouse": "bucket/path"},
    ),
    RuleCase(
        "warehouse-of-jdbc", CATALOG, "spec", "spec.warehouse", WAREHOUSE, JDBC, _with(JDBC, warehouse="lake")
    ),
    RuleCase(
        "rest-without-provider",
        CATALOG,
        "spec",
        "spec.options",
        PROVIDER,
        REST,
        _without(REST, "options"),
    ),
    RuleCase(
        "rest-with-provider-in-secret",
        CATALOG,
        "spec",
        "spec.options",
        PROVIDER,
        _with(REST, options={}, secretRef={"name": "s", "options": {"token.provider": "p", "token": "t"}}),
        _with(REST, options={}, secretRef={"name": "s", "options": {"token": "key"}}),
    ),
    RuleCase(
        "bearer-without-token",
        CATALOG,
        "spec",
        "spec.secretRef",
        TOKEN,
        REST,
        _without(REST, "secretRef"),
    ),
    RuleCase(
        "provider-in-secret-without-token",
        CATALOG,
        "spec",
        "spec.secretRef",
        TOKEN,
        _with(REST, options={}, secretRef={"name": "s", "options": {"token.provider": "p", "token": "t"}}),
        _with(REST, options={}, secretRef={"name": "s", "options": {"token.provider": "p"}}),
    ),
    *(
        RuleCase(f"{owner}-{id}", CATALOG, node, node, message, _options(owner, good), _options(owner, bad))
        for owner, node in (("plain", "spec.options"), ("secret", "spec.secretRef.options"))
        for id, message, good, bad in (  # noqa: A001 - as the field is called
            ("option-name-empty", OPTION_NAMES, "o", ""),
            ("option-name-long", OPTION_NAMES, "o" * 128, "o" * 129),
            ("option-of-spec", OWN_FIELDS, "s3.endpoint", "warehouse"),
        )
    ),
    *(
        RuleCase(
            f"plain-{name.lower()}",
            CATALOG,
            "spec.options",
            "spec.options",
            CREDENTIALS,
            _options("secret", name),
            _options("plain", name),
        )
        for name in (
            *("s3.access-key", "s3.secret-key", "fs.s3a.session.token", "s3.accessKeySecret"),
            *("fs.s3.securityToken", "token", "jdbc.password", "header.X-Api-Key"),
            *("header.Private-Token", "header.Cookie", "header.X-Auth"),
            *("credential", "glue.access-key-id", "glue.session-token"),
        )
    ),
    _form(
        "secret-name",
        CATALOG,
        "spec.secretRef.name",
        OBJECT_NAME,
        lambda name: _with(FILES, secretRef={"name": name, "options": {"a": "key"}}),
        "keys.of-lake",
        "Keys",
    ),
    _form(
        "discovery-policy",
        CATALOG,
        "spec.discovery.policyRef.name",
        OBJECT_NAME,
        lambda name: _with(FILES, discovery={"include": ["*.*"], "policyRef": {"name": name}}),
        "nightly-2",
        "nightly_2",
    ),
    *(
        _form(
            f"discovery-{field}",
            CATALOG,
            f"spec.discovery.{field}[]",
            PATTERN,
            lambda pattern, field=field: _with(FILES, discovery={"include": ["*.*"], field: [pattern]}),
            "sales.*",
            "sales",
        )
        for field in ("include", "exclude")
    ),
)

ZONE = "a time zone is a name of the IANA database, such as Europe/Berlin or UTC"
TABLE: Spec = {"catalogRef": {"name": "lake"}, "identifier": "sales.orders"}
BRANCH: Spec = {**TABLE, "identifier": "sales.orders$branch_release-1.2"}
ONE_TABLE = "a LakeTable is for one table: create another LakeTable instead of changing it"

TABLES = (
    _named(LAKE_TABLE, 200, TABLE),
    RuleCase(
        "table-catalog-changed",
        LAKE_TABLE,
        "spec.catalogRef",
        "spec.catalogRef",
        ONE_TABLE,
        before=TABLE,
        good=_with(TABLE, suspend=True),
        bad=_with(TABLE, catalogRef={"name": "other"}),
    ),
    RuleCase(
        "table-identifier-changed",
        LAKE_TABLE,
        "spec.identifier",
        "spec.identifier",
        ONE_TABLE,
        before=TABLE,
        good=_with(TABLE, priority=5),
        bad=_with(TABLE, identifier="sales.others"),
    ),
    RuleCase(
        "table-option-name-empty",
        LAKE_TABLE,
        "spec.tableOptions",
        "spec.tableOptions",
        OPTION_NAMES,
        _with(BRANCH, tableOptions={"target-file-size": "1g"}),
        _with(TABLE, tableOptions={"": "1g"}),
    ),
    _form(
        "table-identifier",
        LAKE_TABLE,
        "spec.identifier",
        "a table is written database.table, in a nested namespace a.b.table, and a branch of it "
        "database.table$branch_name, without blanks and slashes",
        lambda name: _with(TABLE, identifier=name),
        "sales.orders$branch_v1.2",
        "sales..orders",
    ),
    _form(
        "table-zone", LAKE_TABLE, "spec.timeZone", ZONE, lambda z: _with(TABLE, timeZone=z), "UTC", "+01:00"
    ),
    *(
        _form(
            f"table-{field.lower()}",
            LAKE_TABLE,
            f"spec.{field}.name",
            OBJECT_NAME,
            lambda name, field=field: _with(TABLE, **{field: {"name": name}}),
            "lake",
            "-lake",
        )
        for field in ("catalogRef", "policyRef")
    ),
)

SIZE = "a size is a number of bytes above 0, with or without a unit, such as 512Mi, 1.5Gi or 2G"
SIZES = (
    *("spec.triggers.primaryKey.totalSizeBelow", "spec.triggers.primaryKey.incrementalSizeAbove"),
    *("spec.triggers.partitionFiles.outputFileSize", "spec.triggers.partitionFiles.deadVectorBytes"),
    *("spec.triggers.changeStore.deleteBytesPerNode", "spec.triggers.changeStore.leastDeleteBytesPerNode"),
    "spec.triggers.changeStore.smallBaseFileSize",
    *("spec.limits.bytesPerHour", "spec.spark.driver.memory", "spec.spark.driver.scratchSize"),
    *("spec.spark.executor.memory", "spec.spark.executor.scratchSize", "spec.spark.taskMemory"),
    *("spec.spark.taskSize", "spec.spark.commitEvery", "spec.minGain.bytes"),
    *("spec.sharedRuns.maxBytes", "spec.sharedRuns.maxTableBytes"),
)
"""All fields that take sizes."""
GOOD_SIZES = (
    *("2G", "1.5Gi", "500M", "0.5Gi", "1e9", 2147483648, "2147483648", "3.5E2", "1k", ".5Ti"),
    *("1Ki", "+4Mi", "12P", "3E", "64Mi", "2.25Gi", "7e3", "16Mi"),
)
NO_SIZES = (
    *("2GB", "1.5 Gi", "0", "0.0Gi", "-1Gi", -1, "1ki", "1e", "lots", "1.5.1Gi"),
    *("", "1gi", "Mi", "1KiB", "1,5Gi", "0x10", "--1", "16 Mi"),
)
WINDOW: Spec = {"start": "22:00", "end": "06:00"}
COLUMN_NAMES = "names of partition columns have 1 to 128 characters"
ONE_OF = "set exactly one of intervalSeconds and schedule"
SCHEDULE = "a schedule is written as in cron, with letters, digits, blanks and */,-?#, such as 30 2 * * Sun"
TIME_OF_DAY = "a time of day has two digits, a colon and two digits, from 00:00 to 23:59, such as 08:30"
NO_LENGTH = "start and end of a window must differ; for the whole day, omit windows"
FIVE_FIELDS = (
    "a schedule needs five fields separated by single blanks: minute, hour, day of month, month, day of week"
)


def _full(**fields: object) -> Spec:
    return {"timeZone": "UTC", "full": fields}


def _size(number: int, path: str, bad: str | int) -> RuleCase:
    """A case of a field that takes a size."""

    def at(size: object) -> Spec:
        spec = size
        for name in reversed(path.split(".")[1:]):
            spec = {name: spec}
        assert isinstance(spec, dict)
        return spec

    return RuleCase(f"size-{number}", POLICY, path, path, SIZE, at(GOOD_SIZES[number]), at(bad))


MAINTENANCE = ("expireSnapshots", "expirePartitions", "manageTags", "mergeManifests", "removeOrphans")


def _maintained(kind: str, **fields: object) -> Spec:
    return {"timeZone": "UTC", "maintenance": {kind: fields}}


def _maintenance_cases(kind: str) -> Iterator[RuleCase]:
    """The cases of one kind of maintenance."""
    name, node, schedule = kind.lower(), f"spec.maintenance.{kind}", "0 2 * * *"
    good = _maintained(kind, schedule=schedule)
    yield RuleCase(
        f"{name}-both",
        POLICY,
        node,
        node,
        "set at most one of intervalSeconds and schedule",
        good,
        _maintained(kind, schedule=schedule, intervalSeconds=86400),
    )
    six = _maintained(kind, schedule="0 0 2 * * *")
    yield RuleCase(f"{name}-of-six", POLICY, node, f"{node}.schedule", FIVE_FIELDS, good, six)
    yield _form(
        f"{name}-letters",
        POLICY,
        f"{node}.schedule",
        SCHEDULE,
        lambda text: _maintained(kind, schedule=text),
        "0 2 * * Mon#1",
        "0 2 * * Mon!",
    )
    yield RuleCase(
        f"{name}-without-zone",
        POLICY,
        "spec",
        "spec.timeZone",
        "a schedule of maintenance needs a timeZone",
        good,
        _without(good, "timeZone"),
    )


POLICIES = (
    _named(POLICY, 200, {}),
    *(each for kind in MAINTENANCE for each in _maintenance_cases(kind)),
    RuleCase(
        "maintenance-windows-without-zone",
        POLICY,
        "spec",
        "spec.timeZone",
        "windows of maintenance need a timeZone",
        {"maintenance": {"windows": [WINDOW]}, "timeZone": "Europe/Berlin"},
        {"maintenance": {"windows": [WINDOW]}},
    ),
    RuleCase(
        "maintenance-window-of-no-length",
        POLICY,
        "spec.maintenance.windows[]",
        "spec.maintenance.windows[0]",
        NO_LENGTH,
        {"timeZone": "UTC", "maintenance": {"windows": [{"start": "06:00", "end": "06:01"}]}},
        {"timeZone": "UTC", "maintenance": {"windows": [{"start": "06:00", "end": "06:00"}]}},
    ),
    *(
        _form(
            f"maintenance-window-{end}",
            POLICY,
            f"spec.maintenance.windows[].{end}",
            TIME_OF_DAY,
            lambda time, end=end: {
                "timeZone": "UTC",
                "maintenance": {"windows": [{**WINDOW, end: time}]},
            },
            "08:30",
            "8:30",
        )
        for end in ("start", "end")
    ),
    RuleCase(
        "windows-without-zone",
        POLICY,
        "spec",
        "spec.timeZone",
        "windows need a timeZone",
        {"windows": [WINDOW], "timeZone": "Europe/Berlin"},
        {"windows": [WINDOW]},
    ),
    RuleCase(
        "schedule-without-zone",
        POLICY,
        "spec",
        "spec.timeZone",
        "a schedule needs a timeZone",
        {"full": {"schedule": "30 2 * * Sun"}, "timeZone": "Europe/Berlin"},
        {"full": {"schedule": "30 2 * * Sun"}},
    ),
    RuleCase(
        "gain-of-nothing",
        POLICY,
        "spec.minGain",
        "spec.minGain",
        "set files, bytes or both",
        {"minGain": {"files": 10}},
        {"minGain": {}},
    ),
    RuleCase(
        "backoff-above-most",
        POLICY,
        "spec",
        "spec.retries",
        "backoffSeconds must not be above maxBackoffSeconds",
        {"retries": {"backoffSeconds": 60, "maxBackoffSeconds": 60}},
        {"retries": {"backoffSeconds": 61, "maxBackoffSeconds": 60}},
    ),
    RuleCase(
        "backoff-above-default-most",
        POLICY,
        "spec",
        "spec.retries",
        "backoffSeconds must not be above maxBackoffSeconds",
        {"retries": {"backoffSeconds": 600}},
        {"retries": {"backoffSeconds": 601}},
    ),
    RuleCase(
        "pause-longer-than-interval",
        POLICY,
        "spec",
        "spec.minIntervalSeconds",
        "minIntervalSeconds must not be above full.intervalSeconds, which it would delay each time",
        {"full": {"intervalSeconds": 3600}, "minIntervalSeconds": 3600},
        {"full": {"intervalSeconds": 3600}, "minIntervalSeconds": 3601},
    ),
    RuleCase(
        "full-neither",
        POLICY,
        "spec.full",
        "spec.full",
        ONE_OF,
        _full(intervalSeconds=86400),
        _full(),
    ),
    RuleCase(
        "full-both",
        POLICY,
        "spec.full",
        "spec.full",
        ONE_OF,
        _full(schedule="0 2 * * *"),
        _full(schedule="0 2 * * *", intervalSeconds=86400),
    ),
    RuleCase(
        "schedule-of-four",
        POLICY,
        "spec.full",
        "spec.full.schedule",
        FIVE_FIELDS,
        _full(schedule="*/5 2 1-7 * Mon"),
        _full(schedule="*/5 2 1-7 Mon"),
    ),
    RuleCase(
        "schedule-of-six",
        POLICY,
        "spec.full",
        "spec.full.schedule",
        FIVE_FIELDS,
        _full(schedule="0 2 * * *"),
        _full(schedule="0 0 2 * * *"),
    ),
    RuleCase(
        "schedule-two-blanks",
        POLICY,
        "spec.full",
        "spec.full.schedule",
        FIVE_FIELDS,
        _full(schedule="0 2 * * *"),
        _full(schedule="0  2 * * *"),
    ),
    RuleCase(
        "starting-deadline-of-interval",
        POLICY,
        "spec.full",
        "spec.full.startingDeadlineSeconds",
        "startingDeadlineSeconds needs a schedule",
        _full(schedule="0 2 * * *", startingDeadlineSeconds=600),
        _full(intervalSeconds=86400, startingDeadlineSeconds=600),
    ),
    RuleCase(
        "window-of-no-length",
        POLICY,
        "spec.windows[]",
        "spec.windows[1]",
        NO_LENGTH,
        {"timeZone": "UTC", "windows": [WINDOW, {"start": "06:00", "end": "06:01"}]},
        {"timeZone": "UTC", "windows": [WINDOW, {"start": "06:00", "end": "06:00"}]},
    ),
    RuleCase(
        "off-peak-of-no-length",
        POLICY,
        "spec.offPeak",
        "spec.offPeak",
        "startHour and endHour must differ",
        {"offPeak": {"startHour": 22, "endHour": 4, "sizeRatioPercent": 20}},
        {"offPeak": {"startHour": 4, "endHour": 4, "sizeRatioPercent": 20}},
    ),
    RuleCase(
        "policy-partition-column-empty",
        POLICY,
        "spec.partitions[]",
        "spec.partitions[0]",
        COLUMN_NAMES,
        {"partitions": [{"dt": "2026-01-01", "region": ""}]},
        {"partitions": [{"": "2026-01-01"}]},
    ),
    RuleCase(
        "executors-upside-down",
        POLICY,
        "spec.spark.executor",
        "spec.spark.executor.minInstances",
        "minInstances must not be above maxInstances",
        {"spark": {"executor": {"minInstances": 4}}},
        {"spark": {"executor": {"minInstances": 5}}},
    ),
    RuleCase(
        "group-of-changing-size",
        POLICY,
        "spec.spark",
        "spec.spark.dynamicAllocation",
        "a group that Kueue admits has a fixed size, so dynamicAllocation must be off",
        {"spark": {"dynamicAllocation": True, "kueue": {"queueName": "lake", "admission": "Driver"}}},
        {"spark": {"dynamicAllocation": True, "kueue": {"queueName": "lake"}}},
    ),
    RuleCase(
        "spark-setting-of-others",
        POLICY,
        "spec.spark.conf",
        "spec.spark.conf",
        "names of Spark settings begin with spark. and have at most 256 characters",
        {"spark": {"conf": {"spark.executor.extraJavaOptions": "-Xss4m"}}},
        {"spark": {"conf": {"hadoop.tmp.dir": "/tmp"}}},
    ),
    _form("policy-zone", POLICY, "spec.timeZone", ZONE, lambda zone: {"timeZone": zone}, "Etc/GMT+1", "2 h"),
    _form(
        "schedule-letters",
        POLICY,
        "spec.full.schedule",
        SCHEDULE,
        lambda schedule: _full(schedule=schedule),
        "0 2 * * Mon#1",
        "0 2 * * Mon!",
    ),
    *(
        _form(
            f"window-{end}",
            POLICY,
            f"spec.windows[].{end}",
            TIME_OF_DAY,
            lambda time, end=end: {"timeZone": "UTC", "windows": [{**WINDOW, end: time}]},
            "08:30",
            "8:30",
        )
        for end in ("start", "end")
    ),
    _form(
        "pull-secret",
        POLICY,
        "spec.spark.imagePullSecrets[].name",
        OBJECT_NAME,
        lambda name: {"spark": {"imagePullSecrets": [{"name": name}]}},
        "registry",
        "registry/keys",
    ),
    _form(
        "local-queue",
        POLICY,
        "spec.spark.kueue.queueName",
        "the name of a LocalQueue has lower-case letters, digits and -, and begins and ends with a letter or "
        "digit, such as lake-queue",
        lambda name: {"spark": {"kueue": {"queueName": name}}},
        "lake-queue",
        "lake.queue",
    ),
    *(_size(number, path, bad) for number, (path, bad) in enumerate(zip(SIZES, NO_SIZES, strict=True))),
)

RUN: Spec = {"tableRef": {"name": "orders"}}
RICH_RUN: Spec = {
    **RUN,
    "partitions": [{"dt": "2026-01-01"}],
    "buckets": [1, 2],
    "activeDeadlineSeconds": 3600,
    "cause": "asked by a person",
}
ONE_RUN = "a Compaction is one run: only suspend, cancel, approved and ttlSecondsAfterFinished can be changed"
OTHER_VALUES: Mapping[str, object] = {
    "tableRef": {"name": "users"},
    "strategy": "Full",
    "partitions": [{"dt": "2026-01-02"}],
    "buckets": [1, 3],
    "dryRun": True,
    "approval": "Manual",
    "activeDeadlineSeconds": 7200,
    "cause": "somebody else",
}
CHANGEABLE: Mapping[str, object] = {
    "suspend": True,
    "cancel": True,
    "approved": True,
    "ttlSecondsAfterFinished": 60,
}

ORPHANS = _with(RUN, kind="RemoveOrphans", orphans={"delete": True})

COMPACTIONS = (
    _named(COMPACTION, 52, RUN),
    RuleCase(
        "run-kind-changed",
        COMPACTION,
        "spec.kind",
        "spec.kind",
        ONE_RUN,
        before=RUN,
        good=_with(RUN, suspend=True),
        bad=_with(RUN, kind="ExpireSnapshots"),
    ),
    RuleCase(
        "run-orphans-changed",
        COMPACTION,
        "spec.orphans",
        "spec.orphans",
        ONE_RUN,
        before=ORPHANS,
        good=_with(ORPHANS, cancel=True),
        bad=_with(ORPHANS, orphans={"delete": False}),
    ),
    RuleCase(
        "run-orphans-added",
        COMPACTION,
        "spec",
        "spec",
        ONE_RUN,
        before=_without(ORPHANS, "orphans"),
        good=_with(_without(ORPHANS, "orphans"), cancel=True),
        bad=ORPHANS,
    ),
    *(
        RuleCase(
            f"maintenance-with-{field.lower()}",
            COMPACTION,
            "spec",
            "spec.kind",
            "maintenance is of the whole table: strategy, partitions, buckets and approval are those of "
            "compactions; use dryRun to see what would be done",
            _with(RUN, kind="ExpireSnapshots", dryRun=True),
            _with(RUN, kind="ExpireSnapshots", **{field: value}),
        )
        for field, value in (
            ("strategy", "Full"),
            ("approval", "Manual"),
            ("partitions", [{"dt": "1"}]),
            ("buckets", [1]),
        )
    ),
    RuleCase(
        "orphans-of-a-compaction",
        COMPACTION,
        "spec",
        "spec.orphans",
        "orphans belongs to the kind RemoveOrphans",
        ORPHANS,
        _with(ORPHANS, kind="Compact"),
    ),
    *(
        RuleCase(
            f"run-{field.lower()}-changed",
            COMPACTION,
            f"spec.{field}",
            f"spec.{field}",
            ONE_RUN,
            before=RICH_RUN,
            good=_with(RICH_RUN, **CHANGEABLE),
            bad=_with(RICH_RUN, **{field: value}),
        )
        for field, value in OTHER_VALUES.items()
    ),
    *(
        RuleCase(
            f"run-{field.lower()}-added",
            COMPACTION,
            "spec",
            "spec",
            ONE_RUN,
            before=RUN,
            good=_with(RUN, suspend=True),
            bad=_with(RUN, **{field: RICH_RUN[field]}),
        )
        for field in ("partitions", "buckets", "activeDeadlineSeconds", "cause")
    ),
    *(
        RuleCase(
            f"run-{field.lower()}-removed",
            COMPACTION,
            "spec",
            "spec",
            ONE_RUN,
            before=RICH_RUN,
            good=_with(RICH_RUN, ttlSecondsAfterFinished=60),
            bad=_without(RICH_RUN, field),
        )
        for field in ("partitions", "buckets", "activeDeadlineSeconds", "cause")
    ),
    RuleCase(
        "approval-taken-back",
        COMPACTION,
        "spec",
        "spec.approved",
        "an approval cannot be taken back; set cancel",
        before=_with(RUN, approval="Manual", approved=True),
        good=_with(RUN, approval="Manual", approved=True, cancel=True),
        bad=_with(RUN, approval="Manual", approved=False),
    ),
    RuleCase(
        "cancel-taken-back",
        COMPACTION,
        "spec",
        "spec.cancel",
        "a cancellation cannot be taken back; create another Compaction",
        before=_with(RUN, cancel=True),
        good=_with(RUN, cancel=True, suspend=True),
        bad=_with(RUN, cancel=False),
    ),
    RuleCase(
        "dry-run-with-approval",
        COMPACTION,
        "spec",
        "spec.approval",
        "a dry run changes nothing, so there is nothing to approve",
        _with(RUN, dryRun=True),
        _with(RUN, dryRun=True, approval="Manual"),
    ),
    RuleCase(
        "run-partition-column-long",
        COMPACTION,
        "spec.partitions[]",
        "spec.partitions[1]",
        COLUMN_NAMES,
        _with(RUN, partitions=[{"dt": "1"}, {"d" * 128: "1"}]),
        _with(RUN, partitions=[{"dt": "1"}, {"d" * 129: "1"}]),
    ),
    _form(
        "run-tableref",
        COMPACTION,
        "spec.tableRef.name",
        OBJECT_NAME,
        lambda name: {"tableRef": {"name": name}},
        "sales.orders",
        "Orders",
    ),
)

CASES = (*CATALOGS, *TABLES, *POLICIES, *COMPACTIONS)
