"""What this release supports of Apache Paimon: options, column types and table layouts, in one table.

The table is `support.yaml`. `reasons` and `evolution` check it before any work, through `checks` and `rules`;
`page` renders docs/support.md from it. Anything that it does not classify is refused by name. What
depends on several options has a module named by what it refuses.
"""
