"""The databases that a catalogue can be in: SQLite and PostgreSQL.

Repositories write one SQL for both; what differs is here. ``functions`` has the functions that the two call
differently, ``sqlite`` and ``postgresql`` open, migrate and end transactions.
"""
