"""The catalogue in PostgreSQL beside that in SQLite."""
