"""Query parsing: operators, spelling, expansion, routing."""
