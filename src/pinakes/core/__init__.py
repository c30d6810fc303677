"""Records, errors, ports and filters on which every other package depends. No I/O, no heavy imports."""
