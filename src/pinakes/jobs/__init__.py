"""One queue for what a server does behind its answers: jobs with leases in the catalogue, and a worker that runs them.

What is due follows from the catalogue and the settings: the tasks of a worker look for it and enqueue it, each under a
key, so that several processes that look do it once. What a killed process leaves is done by the next one.
"""
