"""The tables of the engine ``postgres`` in the catalogue's database: a registry, and tables of each index.

None of it belongs to the schema of the catalogue: it is derived, made when the engine is first used, and not moved.
"""
