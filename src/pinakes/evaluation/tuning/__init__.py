"""Try settings on questions with known answers, and claim nothing that may be chance."""
