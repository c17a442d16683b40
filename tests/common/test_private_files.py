"""Files and folders of one user, and folders of one process."""

import os
import stat
from pathlib import Path

import pytest

from heliograph.common import private_files
from heliograph.common.errors import DirectoryInUse
from heliograph.common.private_files import DirectoryLock


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    private_files.make_folder(folder)
    private_files.make_folder(folder)  # it is there already
    assert mode(folder) == 0o700


def test_a_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    with open(tmp_path / "file", "w", opener=private_files.opener) as file:
        file.write("x")
    assert mode(tmp_path / "file") == 0o600


def test_rights_of_others_are_taken_away(tmp_path: Path) -> None:
    open_file, private, link, shared = (tmp_path / name for name in ("open", "private", "link", "shared"))
    open_file.write_text("x")
    open_file.chmod(0o644)
    private.write_text("x")
    private.chmod(0o400)
    link.symlink_to(open_file)
    shared.mkdir()
    shared.chmod(0o1777)
    private_files.tighten([link, private, shared, tmp_path / "missing"])
    assert (mode(open_file), mode(private), mode(shared)) == (0o644, 0o400, 0o1777)
    private_files.tighten([open_file])
    assert mode(open_file) == 0o600


def test_a_directory_has_one_holder_at_a_time(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    with pytest.raises(DirectoryInUse, match=rf"{tmp_path}: in use by another pipeline \(process {os.getpid()}\)"):
        DirectoryLock(tmp_path, "another pipeline")
    lock.release()
    DirectoryLock(tmp_path).release()
