"""Single documents: what they are to become, how that is written, and what they are and were."""
