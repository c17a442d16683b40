"""What a password file holds, who is let in, and what the checker remembers."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import Problem
from heliograph.server.access import passwords
from heliograph.server.access.passwords import Cost, PasswordChecker, PasswordFile, PasswordHash, name_mistake

CHEAP = Cost(n=2, r=1, p=1)
names = st.text(min_size=1, max_size=20).filter(lambda name: name_mistake(name) is None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "users"


def write(path: Path, **passwords: bytes) -> None:
    file = PasswordFile(path)
    for name, password in passwords.items():
        file.set_password(name, password, CHEAP)
    file.save()


# -- the file ---------------------------------------------------------------------------------------------------------


@settings(max_examples=50)  # each waits for the disk
@given(st.dictionaries(names, st.binary(max_size=20), max_size=5), st.binary(max_size=20))
def test_what_is_saved_is_loaded_again(
    tmp_path_factory: pytest.TempPathFactory, users: dict[str, bytes], no: bytes
) -> None:
    path = tmp_path_factory.mktemp("passwords") / "users"
    file = PasswordFile(path)
    for name, password in users.items():
        file.set_password(name, password, CHEAP)
    file.save()
    again = PasswordFile.load(path)
    assert again.names == list(users)
    assert all(again.check(name, password) for name, password in users.items())
    assert all(again.check(name, no) == (no == password) for name, password in users.items())


def test_zeros_at_the_end_of_a_password_count() -> None:
    assert not PasswordHash.of(b"secret", CHEAP).fits(b"secret\0")


@given(st.binary(), st.sampled_from([CHEAP, Cost(4, 2, 2)]))
def test_a_hash_survives_being_written_down(password: bytes, cost: Cost) -> None:
    kept = PasswordHash.of(password, cost)
    assert PasswordHash.parse(str(kept)) == kept


def test_a_line_has_the_documented_form(path: Path) -> None:
    file = PasswordFile(path)
    file.set_password("alice", b"secret")
    file.save()
    assert path.read_text().startswith("alice:$scrypt$n=16384,r=8,p=1$")
    assert PasswordFile.load(path).check("alice", b"secret")


def test_the_same_password_is_kept_differently_for_each_user(path: Path) -> None:
    write(path, alice=b"same", bob=b"same")
    first, second = (line.partition(":")[2] for line in path.read_text().splitlines())
    assert first != second


def test_an_unknown_user_is_refused(path: Path) -> None:
    write(path, alice=b"secret")
    assert not PasswordFile.load(path).check("bob", b"secret")


def test_an_unknown_user_costs_the_same_as_a_known_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, alice=b"secret")
    tries: list[Cost] = []

    def counted(_password: bytes, _salt: bytes, cost: Cost) -> bytes:
        tries.append(cost)
        return b"\0" * 32

    monkeypatch.setattr("heliograph.server.access.passwords._scrypt", counted)
    file = PasswordFile.load(path)
    file.check("alice", b"wrong")
    file.check("bob", b"wrong")
    assert tries == [CHEAP, CHEAP]


def test_comments_and_order_survive_a_change(path: Path) -> None:
    write(path, alice=b"1", bob=b"2")
    alice, bob = path.read_text().splitlines()
    path.write_text(f"# people\n{alice}\n\n# machines\n{bob}\n")
    file = PasswordFile.load(path)
    file.set_password("alice", b"new", CHEAP)
    file.set_password("carol", b"3", CHEAP)
    file.save()
    lines = path.read_text().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["# people", "alice", "", "# machines", "bob", "carol"]
    assert PasswordFile.load(path).check("alice", b"new")
    assert PasswordFile.load(path).check("bob", b"2")


def test_a_removed_user_is_gone(path: Path) -> None:
    write(path, alice=b"1", bob=b"2")
    file = PasswordFile.load(path)
    file.remove("alice")
    file.save()
    assert PasswordFile.load(path).names == ["bob"]


def test_removing_nobody_is_a_problem(path: Path) -> None:
    with pytest.raises(Problem, match="expected a user of this file, found alice"):
        PasswordFile(path).remove("alice")


def test_a_new_file_is_for_its_owner_alone(path: Path) -> None:
    write(path, alice=b"1")
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_existing_file_keeps_its_mode(path: Path) -> None:
    write(path, alice=b"1")
    path.chmod(0o640)
    PasswordFile.load(path).save()
    assert path.stat().st_mode & 0o777 == 0o640


def test_saving_through_a_symbolic_link_keeps_the_link(path: Path, tmp_path: Path) -> None:
    write(path, alice=b"1")
    link = tmp_path / "link"
    link.symlink_to(path)
    file = PasswordFile.load(link)
    file.remove("alice")
    file.save()
    assert link.is_symlink()
    assert PasswordFile.load(path).names == []


def test_a_failed_save_is_a_problem_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "users").mkdir()
    with pytest.raises(Problem, match="cannot write the password file"):
        PasswordFile(tmp_path / "users").save()
    assert [entry.name for entry in tmp_path.iterdir()] == ["users"]


GOOD = str(PasswordHash.of(b"secret", CHEAP))
_, _, _, SALT, DIGEST = GOOD.split("$")


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("alice", "expected $scrypt$"),
        ("alice:secret", "expected $scrypt$"),
        (f"alice:$scrypt$n=3,r=8,p=1${SALT}${DIGEST}", "expected n to be a power of two"),
        (f"alice:$scrypt$n=2,r=0,p=1${SALT}${DIGEST}", "expected n to be a power of two"),
        (f"alice:$scrypt$n=1048576,r=8,p=1${SALT}${DIGEST}", "at most 256 MB"),
        (f"alice:$scrypt$n=2,r=1,p=1$?${DIGEST}", "expected salt and hash in base64"),
        (f"alice:$scrypt$n=2,r=1,p=1${SALT}$AAAA", "expected a hash of 32 bytes, found 3"),
        (f":{GOOD}", "expected a user name, found an empty one"),
        (f"bob:{GOOD}", "expected each user once, found bob again"),
    ],
    ids=lambda text: "line" if text.partition(":")[0] in {"alice", "bob", ""} else text,  # salts are random
)
def test_a_bad_line_is_told_with_file_and_line_but_without_its_hash(path: Path, line: str, mistake: str) -> None:
    path.write_text(f"# a comment\nbob:{GOOD}\n{line}\n")
    with pytest.raises(Problem) as caught:
        PasswordFile.load(path)
    text = str(caught.value)
    assert text.startswith(f"{path}:3: ")
    assert mistake in text
    assert "secret" not in text
    assert DIGEST not in text


@pytest.mark.parametrize("name", ["", "#alice", "a:b", "a\nb", "a\0b"])
def test_a_name_that_the_file_cannot_hold_is_refused(path: Path, name: str) -> None:
    with pytest.raises(Problem, match="expected a user name"):
        PasswordFile(path).set_password(name, b"x", CHEAP)


def test_a_missing_file_is_a_problem(path: Path) -> None:
    with pytest.raises(Problem, match="No such file"):
        PasswordFile.load(path)


# -- the checker ------------------------------------------------------------------------------------------------------


def test_without_a_file_nobody_is_let_in() -> None:
    checker = PasswordChecker(None)
    assert not checker.check("alice", b"")
    assert not checker.known("alice", b"")


def test_a_success_is_known_from_then_on(path: Path) -> None:
    write(path, alice=b"secret")
    checker = PasswordChecker(path)
    assert not checker.known("alice", b"secret")
    assert checker.check("alice", b"secret")
    assert checker.known("alice", b"secret")


def test_a_failure_is_known_from_then_on(path: Path) -> None:
    write(path, alice=b"secret")
    checker = PasswordChecker(path)
    assert checker.known("alice", b"wrong") is None
    assert not checker.check("alice", b"wrong")
    assert checker.known("alice", b"wrong") is False


def test_wrong_passwords_do_not_make_right_ones_forgotten(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "WRONG_MEMO_SIZE", 3)
    write(path, alice=b"secret")
    checker = PasswordChecker(path, memo_size=3)
    assert checker.check("alice", b"secret")
    for number in range(10):
        checker.check("alice", b"guess %d" % number)
    assert checker.known("alice", b"secret")
    assert [checker.known("alice", b"guess %d" % number) for number in (0, 6, 7, 9)] == [None, None, False, False]


def test_name_and_password_are_not_mixed_up(path: Path) -> None:
    write(path, ab=b"c")
    checker = PasswordChecker(path)
    assert checker.check("ab", b"c")
    assert not checker.known("a", b"bc")


def test_a_reload_drops_what_was_known_and_takes_the_new_passwords(path: Path) -> None:
    write(path, alice=b"old")
    checker = PasswordChecker(path)
    checker.check("alice", b"old")
    write(path, alice=b"new")
    checker.reload(path)
    assert not checker.known("alice", b"old")
    assert not checker.check("alice", b"old")
    assert checker.check("alice", b"new")


def test_a_check_that_a_reload_overtakes_is_not_remembered(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, alice=b"old")
    checker = PasswordChecker(path)

    def overtaken(_file: PasswordFile, _name: str, _password: bytes) -> bool:
        checker.reload(None)
        return True

    monkeypatch.setattr(PasswordFile, "check", overtaken)
    assert checker.check("alice", b"old")
    assert not checker.known("alice", b"old")


def test_a_broken_file_leaves_the_old_one_in_force(path: Path) -> None:
    write(path, alice=b"secret")
    checker = PasswordChecker(path)
    path.write_text("nonsense\n")
    with pytest.raises(Problem):
        checker.reload(path)
    assert checker.check("alice", b"secret")


def test_the_memo_is_bounded_and_forgets_the_oldest(path: Path) -> None:
    write(path, a=b"1", b=b"2", c=b"3")
    checker = PasswordChecker(path, memo_size=2)
    for name, password in (("a", b"1"), ("b", b"2"), ("c", b"3")):
        checker.check(name, password)
    assert [checker.known("a", b"1"), checker.known("b", b"2"), checker.known("c", b"3")] == [None, True, True]


def test_what_is_known_costs_next_to_nothing(path: Path) -> None:
    file = PasswordFile(path)
    file.set_password("alice", b"secret")
    file.save()
    checker = PasswordChecker(path)
    started = time.process_time()
    checker.check("alice", b"secret")
    slow = time.process_time() - started
    started = time.process_time()
    checker.known("alice", b"secret")
    assert time.process_time() - started < slow / 10
