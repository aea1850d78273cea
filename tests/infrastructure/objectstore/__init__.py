"""A real S3 server for the tests: versitygw over a folder."""
