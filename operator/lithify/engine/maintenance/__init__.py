"""What kinds of maintenance share between formats: the search for orphan files, and their deletion."""
