"""What this release supports of Apache Paimon: options, column types and table layouts, from one table.

The table is `support.yaml`. `catalog` and `evolution` ask it before any work, by `checks` and `rules`; `page`
makes docs/support.md of it. What it does not classify is refused by name.
"""
