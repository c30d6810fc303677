"""What a user's disk holds after ``pip install`` and ``pinakes model install``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.sets import ROOT
from benchmarks.speed.machine import disk_mb


@dataclass(frozen=True, slots=True)
class Installed:
    """Blocks on disk in MB: the packages (pip's own left out), the model's cache, both."""

    packages_mb: float
    model_mb: float
    total_mb: float
    torch: bool


def installed(work: Path) -> Installed:
    """Make a new virtual environment with the base and its model, measure it, and throw it away."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        environment, cache = Path(folder) / "venv", Path(folder) / "cache"
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--constraint", str(ROOT / "constraints.txt"), str(ROOT)], check=True)
        command = [str(environment / "bin" / "pinakes"), "model", "install", "--home", str(Path(folder) / "home")]
        subprocess.run(command, check=True, stdout=sys.stderr, env={**os.environ, "PINAKES_CACHE": str(cache)})
        own = [path for path in environment.glob("lib/python*/site-packages/*") if not path.name.startswith("pip")]
        torch = any(path.name == "torch" for path in own)
        packages, model = disk_mb(*own), disk_mb(cache)
    return Installed(packages, model, packages + model, torch)
