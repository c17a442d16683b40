"""`helio passwd`, as it is called from a shell."""

import io
from pathlib import Path

import pytest

from heliograph.cli.main import main
from heliograph.server.access.passwords import PasswordFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "users"


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch):
    """Answers for the password prompts, in turn."""

    def answer(*words: str) -> None:
        answers = iter(words)
        monkeypatch.setattr("getpass.getpass", lambda _prompt: next(answers))

    return answer


def pipe_in(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_password_is_asked_for_twice(path: Path, type_in) -> None:
    type_in("grün", "grün")
    assert main(["passwd", str(path), "alice"]) == 0
    assert PasswordFile.load(path).check("alice", "grün".encode())


def test_without_a_terminal_it_says_how_to_give_the_password(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nobody_types(_prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("getpass.getpass", nobody_types)
    assert main(["passwd", str(path), "alice"]) == 1
    assert "--stdin takes it from a pipe" in capsys.readouterr().err
    assert not path.exists()


def test_two_different_answers_change_nothing(path: Path, type_in, capsys: pytest.CaptureFixture[str]) -> None:
    type_in("one", "two")
    assert main(["passwd", str(path), "alice"]) == 1
    assert "expected the same password twice" in capsys.readouterr().err
    assert not path.exists()


def test_a_password_may_come_from_standard_input(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe_in(monkeypatch, b"secret\n")
    assert main(["passwd", "--stdin", str(path), "alice"]) == 0
    assert PasswordFile.load(path).check("alice", b"secret")


def test_an_empty_password_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe_in(monkeypatch, b"")
    assert main(["passwd", "--stdin", str(path), "alice"]) == 1


def test_users_are_listed_and_deleted(path: Path, type_in, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("alice", "bob"):
        type_in("x", "x")
        main(["passwd", str(path), name])
    assert main(["passwd", "--list", str(path)]) == 0
    assert capsys.readouterr().out == "alice\nbob\n"
    assert main(["passwd", "-D", str(path), "alice"]) == 0
    assert PasswordFile.load(path).names == ["bob"]


def test_without_a_user_there_is_nothing_to_do(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passwd", str(path)]) == 1
    assert "expected the name of a USER" in capsys.readouterr().err
