"""Random histories of tables, played against Java Paimon; `make fuzz N=1000 SEED=7` draws others."""
