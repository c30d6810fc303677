"""What all interfaces share: the form of a hit, for programs and for agents, and the envelope of HTTP answers."""
