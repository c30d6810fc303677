"""The operating system: archives with a manifest, file sizes and permissions, locks, memory, plug-ins."""
