"""The parts of a run that all kinds of tables share: plans, tasks, steps, reports and inspections."""
