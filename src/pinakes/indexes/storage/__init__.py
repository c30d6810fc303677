"""Versions and checksums of index files."""
