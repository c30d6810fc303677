"""In-memory caches of search: collection statistics, document features, summary vectors."""
