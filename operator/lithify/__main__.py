"""`python -m lithify` is `lithify`."""

from lithify.cli.main import main

main()
