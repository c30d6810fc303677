"""Local models: their files, the conversion to ONNX graphs, and the runtime. Used by embedders and rerankers."""
