"""`helio config`, as it is called from a shell."""

from pathlib import Path

import pytest

from certificates import Authority
from heliograph.cli.main import main
from heliograph.server.config.loading import load_config


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "heliograph.toml"


def test_a_good_file_is_ok(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('[log]\nlevel = "debug"')
    assert main(["config", "check", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: ok\n"


def test_a_warning_does_not_make_a_file_bad(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('[http]\nhost = "*"')
    assert main(["config", "check", str(file)]) == 0
    assert f"{file}: warning: http.host: " in capsys.readouterr().out


def test_a_bad_file_is_told_with_all_its_mistakes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("[log]\nlevel = 3\n[http]\nport = -1")
    assert main(["config", "check", str(file)]) == 1
    err = capsys.readouterr().err
    assert "log.level: " in err
    assert "http.port: " in err


def test_a_bad_password_file_makes_the_configuration_bad(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file.parent / "users").write_text("nonsense")
    file.write_text('[access]\npassword_file = "users"')
    assert main(["config", "check", str(file)]) == 1
    assert "users:1: expected" in capsys.readouterr().err


def test_a_bad_certificate_makes_the_configuration_bad(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = Authority(file.parent).issue("server", "server")
    file.write_text(f'[[listener]]\nkind = "tls"\ncert = "{pair.cert.name}"\nkey = "{pair.key.name}"')
    assert main(["config", "check", str(file)]) == 0
    pair.cert.write_text("nonsense")
    assert main(["config", "check", str(file)]) == 1
    assert "expected a certificate in" in capsys.readouterr().err


def test_the_defaults_can_be_checked_and_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check"]) == 0
    assert capsys.readouterr().out == "defaults: ok\n"
    assert main(["config", "show"]) == 0
    file.write_text(capsys.readouterr().out)
    assert load_config(file) == load_config(None)


def test_what_is_shown_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "show"])
    assert (
        "# Largest packet accepted; in bytes, from 256 to 268435460\npacket_size = 4194304\n" in capsys.readouterr().out
    )


def test_the_reference_has_every_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "reference"]) == 0
    said = capsys.readouterr().out
    assert "## [[queue]]\n" in said
    assert "| `max_ttl` | number from 0 to 999999999, in seconds | `0` | reload |" in said


def test_the_reference_is_written_into_files_where_they_want_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Log\n\n<!-- table: log -->\nold\n<!-- end of table -->\n\nMore.\n")
    assert main(["config", "reference", str(page)]) == 0
    assert "| `level` |" in page.read_text()
    assert "old" not in page.read_text()
    assert page.read_text().endswith("<!-- end of table -->\n\nMore.\n")


def test_a_table_that_is_none_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- table: lgo -->\n<!-- end of table -->\n")
    assert main(["config", "reference", str(page)]) == 1
    assert "expected the name of a table (server, log, " in capsys.readouterr().err
