"""What searches keep in memory of a collection: caches, features of documents, vectors of summaries."""
