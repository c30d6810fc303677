"""The built-in vector engine: FAISS over 8-bit codes, re-scored with float16 vectors."""
