"""The use cases, each over the catalogue, the indexes and search; nothing here knows of HTTP or MCP."""
