"""Ranking of candidates: fusion, boosts, reranking, diversity."""
