"""The shipped profiles: settings files for known jobs."""
