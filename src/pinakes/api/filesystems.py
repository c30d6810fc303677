"""Detects whether the system reports changes in a folder, which network file systems do not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_SILENT = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "glusterfs", "beegfs", "gpfs"),
        *("9p", "virtiofs", "vboxsf", "vmhgfs", "prl_fs", "drvfs"),
        *("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.vmhgfs-fuse"),
        *("fuse.grpcfuse", "fuse.osxfs", "fuse.portal"),
    )
)
"""Kinds of file systems that others may write to without this system knowing."""


def tells_of_changes(folder: Path) -> bool:
    """Say whether the system is told of every change in ``folder``, as far as its file system shows."""
    if sys.platform != "linux":
        return True
    try:
        mounts = _MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:
        return True
    return kind_of(os.path.realpath(folder), mounts) not in _SILENT


def kind_of(path: str, mounts: str) -> str:
    """Return the kind of the file system that ``path`` lies on, "" where ``mounts`` (as Linux lists them) has none."""
    best, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, types = before.split(" "), after.split(" ")
        if len(fields) < 5 or not types[0]:
            continue
        point = _unescaped(fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # of several mounts at one place the last is seen
            best, kind = point, types[0]
    return kind


def _unescaped(text: str) -> str:
    """Return a path of the list of mounts, in which blanks and the like stand as octal numbers."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
