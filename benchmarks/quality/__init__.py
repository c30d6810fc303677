"""Quality of the answers on question sets, measured through the library."""
