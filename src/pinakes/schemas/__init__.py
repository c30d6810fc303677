"""Schemas that all interfaces share: the hit, for programs and for agents, and the envelope of HTTP answers."""
