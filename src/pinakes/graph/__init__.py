"""The knowledge graph of a collection: written with its documents, made canonical behind them, walked by questions."""
