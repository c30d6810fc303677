"""``POST /search``, the same over a socket, and ``GET /stats``, as the server of the KEPs promised them."""
