"""Evaluation of retrieval: golden questions, metrics, and runs that measure them."""
