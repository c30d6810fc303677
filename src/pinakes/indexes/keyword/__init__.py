"""The keyword engine: Tantivy."""
