"""Settings of Spark's procedures and of Amoro, as fields of policies and options of tables.

- `importer`: what `formats.registry` calls: tells SQL from properties.
- `mapping`: the rules applied to what was read; pure.
- `procedure_rules`, `amoro_rules`: what each setting becomes; data.
- `rules`, `conversions`: the form of a rule, and the conversions of values.
- `calls`, `property_texts`: the two kinds of text.
"""
