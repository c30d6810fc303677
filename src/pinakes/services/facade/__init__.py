"""The services of a home by name, for ``Library``."""
