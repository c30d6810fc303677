"""About calls: who is asking, what is written down of it, and whether searches are running."""
