"""Staged retrieval: the documents worth opening first, then what of them is needed."""
