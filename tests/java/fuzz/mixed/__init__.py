"""Random histories of keyed tables, in which we, writers and Arctic's own executor take turns."""
