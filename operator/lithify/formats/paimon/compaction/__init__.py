"""What a run does alike for every kind of table: plans, tasks, steps, reports and inspections."""
