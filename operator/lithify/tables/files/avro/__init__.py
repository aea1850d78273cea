"""Avro: blocks of rows, which are decoded and encoded one at a time."""
