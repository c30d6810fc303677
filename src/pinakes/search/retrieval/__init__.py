"""Retrieval of candidates by keyword and vector, with their scores and document evidence."""
