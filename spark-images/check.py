"""Imports everything of the package: run when an image is built, so that no image lacks what it needs."""

import importlib
import os
import pkgutil
import sys

import lithify

for module in pkgutil.walk_packages(lithify.__path__, "lithify."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
if os.environ.get("SPARK_HOME"):
    importlib.import_module("pyspark.daemon")
elif {"pyspark", "py4j"} & set(sys.modules) or importlib.util.find_spec("pyspark"):
    sys.exit("there is Spark in an image that should have none")
