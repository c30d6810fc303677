"""Where the system does not tell of changes, they have to be looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes.api.filesystems import kind_of, tells_of_changes

MOUNTS = r"""
22 1 0:1 / / rw,relatime - ext4 /dev/sda rw
23 22 0:2 / /srv/shared rw,relatime shared:1 - nfs4 server:/shared rw
24 23 0:3 / /srv/shared/local rw - btrfs /dev/sdb rw
25 22 0:4 / /srv/with\040blank rw - fuse.sshfs host:/ rw
26 22 0:5 / /srv/twice rw - ext4 /dev/sdc rw
27 26 0:6 / /srv/twice rw - cifs //server/twice rw
half a line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/other", "ext4"),
        ("/srv/shared", "nfs4"),
        ("/srv/shared/docs", "nfs4"),
        ("/srv/shared-not", "ext4"),
        ("/srv/shared/local/docs", "btrfs"),
        ("/srv/with blank/docs", "fuse.sshfs"),
        ("/srv/twice/docs", "cifs"),
    ],
)
def test_the_nearest_mount_and_of_several_the_last_decides(path: str, kind: str) -> None:
    assert kind_of(path, MOUNTS) == kind


def test_without_any_mount_the_kind_is_not_known() -> None:
    assert kind_of("/srv", "") == ""


def test_a_folder_of_this_machine_tells_of_changes(tmp_path: Path) -> None:
    assert tells_of_changes(tmp_path)
