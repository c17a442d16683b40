"""A class archive belongs to one Java and one set of jars."""

from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.pipeline.session.archive import archive_of, make_archive, options_to_use
from heliograph.pipeline.session.java import Java

JAVA = Java(Path("/java"), 17, 'JAVA_VERSION="17.0.15"', "PATH")


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark.jar").write_bytes(b"classes")
    return tmp_path / "jars"


def test_an_archive_is_used_if_it_is_there(jars: Path, tmp_path: Path) -> None:
    archive = archive_of(JAVA, jars, tmp_path)
    assert options_to_use(archive) == []
    archive.touch()
    assert options_to_use(archive) == [f"-XX:SharedArchiveFile={archive}"]


def test_java_25_has_a_cache_of_its_own_kind(jars: Path, tmp_path: Path) -> None:
    archive = archive_of(replace(JAVA, version=25), jars, tmp_path)
    archive.touch()
    assert options_to_use(archive) == [f"-XX:AOTCache={archive}"]


def test_an_archive_of_other_jars_is_not_found(jars: Path, tmp_path: Path) -> None:
    archive_of(JAVA, jars, tmp_path).touch()
    (jars / "spark.jar").write_bytes(b"newer classes")
    assert options_to_use(archive_of(JAVA, jars, tmp_path)) == []


def test_an_archive_of_another_java_is_not_found(jars: Path, tmp_path: Path) -> None:
    archive_of(JAVA, jars, tmp_path).touch()
    patched = replace(JAVA, release='JAVA_VERSION="17.0.16"')
    assert options_to_use(archive_of(patched, jars, tmp_path)) == []


def test_an_archive_is_made_once(jars: Path, tmp_path: Path) -> None:
    archive = archive_of(JAVA, jars, tmp_path)
    archive.write_text("made before")
    said: list[str] = []
    make_archive(archive, said.append)
    assert said == [f"class archive: {archive} is up to date"]
    assert archive.read_text() == "made before"
