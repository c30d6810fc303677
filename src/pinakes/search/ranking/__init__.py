"""From candidates to one ranking: fusion, boosts, reranking, diversity."""
