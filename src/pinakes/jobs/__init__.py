"""The queue of a server's background jobs, with leases in the catalogue, and the worker that runs them.

The tasks of a worker derive due jobs from the catalogue and the settings, and enqueue each under a key, so that it runs
once even if several processes look for it. The next process continues jobs that a killed process left.
"""
