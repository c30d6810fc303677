"""From a ranking to hits: hydration, excerpts, explanations."""
