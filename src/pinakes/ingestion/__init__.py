"""Ingestion: from a source to committed documents. ``run.py`` is the flow, ``embedding.py`` its most expensive step."""
