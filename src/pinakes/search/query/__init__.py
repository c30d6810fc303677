"""What is asked: operators, spelling, expansion, routing."""
