"""What a format supports of its tables' options: rules in a YAML file, verdicts on values, pages."""
