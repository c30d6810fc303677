"""Sync: sources of collections, their schedules, and files that changed."""
