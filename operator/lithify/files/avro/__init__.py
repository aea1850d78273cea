"""Avro: blocks of rows, decoded and encoded one block at a time."""
