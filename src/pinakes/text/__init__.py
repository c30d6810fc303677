"""Analysis of texts: markup, pages, identifiers, credentials, and instructions aimed at models."""
