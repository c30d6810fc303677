"""What the engine ``postgres`` keeps in the catalogue's database: an entry for each index, and tables of its own.

None of it belongs to the schema of the catalogue: it is derived, made when the engine is first used, and not moved.
"""
