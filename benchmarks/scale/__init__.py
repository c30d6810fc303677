"""What a large collection costs on one machine: ``python -m benchmarks.scale --sizes 100000``."""
