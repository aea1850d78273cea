"""Apache Paimon: the only package that imports pypaimon (metadata readers and writers, FileIO)."""

from lithify.files.without_pandas import leave_out_pandas
from lithify.formats.paimon.without_polars import stand_in_for_polars

leave_out_pandas()
stand_in_for_polars()
