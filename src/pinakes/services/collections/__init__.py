"""Collections as a whole: made and named, how they stand, and which metadata they lack."""
