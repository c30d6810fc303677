"""Candidates of both retrievers, with their evidence."""
