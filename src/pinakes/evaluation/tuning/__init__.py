"""Tuning of settings on golden questions; only statistically significant improvements are reported as such."""
