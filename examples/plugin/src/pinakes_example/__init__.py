"""Plug-ins for Pinakes: an embedder, a reranker, a reader and an index engine."""
