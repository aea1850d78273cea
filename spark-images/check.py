"""Imports the package: run when an image is built, so that no image lacks what it needs.

`check.py spark` imports every module; `check.py operator` those of the operator's commands and of its
observing workers, and of the rest all but LEFT_OUT, which nobody there calls. Libraries that packages load on
request are loaded, too.
"""

import ctypes
import importlib
import importlib.util
import pkgutil
import sys

import lithify

OPERATOR = (
    "lithify.cli.operator",
    "lithify.cli.release",
    "lithify.cli.inspect",
    "lithify.cli.plan",
    "lithify.controller.observing.answering",
    "lithify.controller.observing.worker",
)
"""What the operator's image is for. operator/without.txt has the packages that none of these imports."""
LEFT_OUT = {"lithify.resources.rules"}
"""Modules that cannot be imported there: part of `lithify watch`."""
ABSENT = (
    "pyspark",
    "py4j",
    "pandas",
    "polars",
    "pytz",
    "fsspec",
    "cel",
    "jsonschema",
    "pygments",
    "zstandard",
    "pip",
)


LIBRARIES = ("libgssapi_krb5.so.2",)
"""Of Debian, not of a package: Kerberos for hdfs-native."""


def main(image: str) -> None:
    """Checks one image; ends the process with a sentence if something is wrong."""
    # Before anything is imported: pandas has a stand-in afterwards.
    if image == "operator" and (found := [name for name in ABSENT if importlib.util.find_spec(name)]):
        sys.exit(f"the operator's image should have no {', '.join(found)}")
    for name in OPERATOR if image == "operator" else ("pyspark.daemon",):
        importlib.import_module(name)
    for name in LIBRARIES:
        ctypes.CDLL(name)
    failed = {name for name in modules() if not is_imported(name)}
    if failed != (LEFT_OUT if image == "operator" else set()):
        sys.exit(f"these cannot be imported: {', '.join(sorted(failed))}")


def modules() -> list[str]:
    """All modules of the package but those that run something when they are imported."""
    # No function for errors is given: packages of ours import nothing that any image lacks.
    found = pkgutil.walk_packages(lithify.__path__, "lithify.")
    return [module.name for module in found if not module.name.endswith("__main__")]


def is_imported(name: str) -> bool:
    """Imports a module; one that lacks a package is not imported, any other failure is an error."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1])
