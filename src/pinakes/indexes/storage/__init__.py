"""Files of an index: their versions and checksums."""
