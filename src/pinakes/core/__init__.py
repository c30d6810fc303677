"""Records, errors, ports and filters that all else is made of. No input or output, nothing heavy."""
