"""Random histories of Iceberg tables, played with Spark; `make fuzz N=1000 SEED=7` draws others."""
