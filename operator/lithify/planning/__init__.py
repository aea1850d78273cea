"""Pure decisions about which files to compact and how: no I/O, no clock, no table format, no arrays."""
