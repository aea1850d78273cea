"""No modules of Lithify import each other in a circle, imports for types alone included."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp


def test_modules_import_each_other_in_one_direction() -> None:
    graph = grimp.build_graph("lithify", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names a circle
