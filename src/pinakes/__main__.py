"""``python -m pinakes``, where the command itself is not on the path."""

from __future__ import annotations

from pinakes.cli import main

if __name__ == "__main__":
    main()
