"""Keeping collections current: what they are filled from, when that is read, and what is no longer as it was."""
