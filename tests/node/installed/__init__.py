"""The product on a real node: the chart installed, drivers and executors in pods, tables on S3."""
