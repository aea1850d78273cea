"""Apache Paimon: the only package that imports pypaimon (metadata readers and writers, FileIO)."""

from lithify.tables.paimon.without_pandas import leave_out_pandas

leave_out_pandas()
