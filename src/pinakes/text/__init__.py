"""About the text of documents: its elements, pages and identifiers, and what tries to instruct a model."""
