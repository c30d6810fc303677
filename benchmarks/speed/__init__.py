"""Speed, memory and size, measured on this machine through what users call."""
