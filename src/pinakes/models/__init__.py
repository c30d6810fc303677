"""Models that run here: their files, how they become ONNX graphs, and running those. Embedders and rerankers use it."""
