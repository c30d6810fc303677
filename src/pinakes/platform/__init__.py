"""About the machine: files with a manifest, their sizes, locks between processes, memory that is free."""
