"""Models that embed for single collections, and what embedding by a provider costs."""
