"""Names of settings in messages: flags for readers of a command's output, fields for those of an object.

Errors carry the setting itself (`errors.LithifyError`), so that the code that shows a message chooses the
name: commands the flag, which is the default; operator and drivers the field (`in_fields`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting by its two names.

    Attributes:
        flag: on the command line.
        field: in an object; with the object's kind where messages about other objects name it, too.
    """

    flag: str
    field: str

    def __str__(self) -> str:
        return self.flag


_OF_CATALOG = " of the Catalog"


def _of_catalog(flag: str, path: str) -> Setting:
    return Setting(flag, f"{path}{_OF_CATALOG}")


def _of_policy(flag: str, path: str) -> Setting:
    return Setting(flag, f"{path} of the CompactionPolicy")


def _of_operator(flag: str, path: str) -> Setting:
    """A flag of the operator; readers of objects know it only through the values of the chart."""
    return Setting(flag, f"{path} in the values of the operator's chart")


WAREHOUSE = _of_catalog("--warehouse", "spec.warehouse")
CATALOG_SETTINGS = _of_catalog("--catalog-option", "spec.options")
CREDENTIALS = Setting("the --catalog-option settings", "those that spec.secretRef of the Catalog names")
METASTORE = _of_catalog("metastore", "spec.metastore")
URI = _of_catalog("uri", "spec.uri")
TABLE = Setting("--table", "spec.identifier of the LakeTable")
TIME_ZONE = Setting("--time-zone", "spec.timeZone of the LakeTable")
BUCKETS = Setting("--bucket", "spec.buckets of the Compaction")
PARTITIONS = Setting("--partition", "spec.partitions of the Compaction or CompactionPolicy")
RUN = Setting("--run-id", "metadata.uid of the Compaction")
MASTER = Setting("--master", "spec.spark of the CompactionPolicy")
SPARK_OUTPUT = Setting("what -v shows", "the log of the driver's pod")
DRIVER_MEMORY = _of_policy("--spark-conf spark.driver.memory", "spec.spark.driver.memory")
EXECUTOR_MEMORY = _of_policy("--spark-conf spark.executor.memory", "spec.spark.executor.memory")
TASK_MEMORY = _of_policy("--task-memory", "spec.spark.taskMemory")

ALLOWED_ADDRESSES = _of_operator("--allow-address", "operator.allowedAddresses")
OWN_IDENTITY = _of_operator("--own-identity", "operator.ownIdentity")
HOST_ACCESS = _of_operator("--allow-host-access", "operator.allowHostAccess")
LOOKS = _of_operator("--looks", "operator.looks")
LONGEST_LOOK = _of_operator("--max-timeout-seconds", "operator.maxTimeoutSeconds")
MOST_TABLES = _of_operator("--max-discovered-tables", "operator.maxDiscoveredTables")


def catalog_option(name: str) -> Setting:
    """Setting of a catalog option."""
    return _SPECIAL.get(name) or _of_catalog(name, f'spec.options["{name}"]')


def table_option(name: str) -> Setting:
    """Setting of a table option for runs."""
    return Setting(f"--option {name}", f'spec.tableOptions["{name}"] of the LakeTable')


def is_of_catalog(field: str) -> bool:
    """Whether a setting, by its name in an object, is one of a Catalog."""
    return field.endswith(_OF_CATALOG)


_SPECIAL = {"metastore": METASTORE, "uri": URI, "warehouse": Setting("warehouse", WAREHOUSE.field)}
"""Options of Paimon that are fields of their own in our objects."""
