"""Starting, watching and ending drivers: as pods, or as processes of this machine."""
