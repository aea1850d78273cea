"""What this release supports of Apache Iceberg: table properties, types and versions, in one table.

The table is `properties.yaml`; `reasons` checks it before any work, `page` renders it. Properties that
are not in it are users' notes, except below the prefixes that Iceberg's writers obey: those are refused.
"""
