"""Pinakes: a local-first knowledge server."""
