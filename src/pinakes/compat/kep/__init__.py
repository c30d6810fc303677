"""The contract of the KEP server: ``POST /search``, the same over a WebSocket, and ``GET /stats``."""
