"""Commands on single documents: planned changes, writing, reading, history."""
