"""Programs that tests need and that are built from source, once per machine."""
