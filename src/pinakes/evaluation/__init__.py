"""How good the answers are: golden questions, metrics, and a run that puts them together."""
