"""How changes of several groups become one snapshot, whatever others commit meanwhile."""
