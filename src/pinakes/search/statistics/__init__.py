"""What searches know of collections, documents and queries, cached."""
