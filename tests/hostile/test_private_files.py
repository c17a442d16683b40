"""Other users of the machine, who look into the server's files."""

from pathlib import Path

from configurations import PLAIN
from plain_client import PlainClient
from running import RunningServer, Serve

CONFIG = f"""{PLAIN}
[[stream]]
name = "plant"
filter = "plant/#"
[[queue_manager]]
name = "OTHER"
[storage]
directory = "data"
"""


def open_to_others(folder: Path) -> list[str]:
    """What somebody else may do something with."""
    return [
        f"{path}: {path.stat().st_mode & 0o777:o}"
        for path in [folder, *folder.rglob("*")]
        if path.stat().st_mode & 0o077
    ]


def used(server: RunningServer) -> None:
    with PlainClient(server.port).connected() as client:
        client.publish("plant/1", b"secret")
    server.wait_until(lambda stats: stats["messages"]["received"] > 0)


def test_nobody_else_can_read_what_the_server_keeps(serve: Serve, tmp_path: Path) -> None:
    used(serve(CONFIG))
    for folder in (tmp_path / "data", tmp_path / "data-OTHER"):
        assert any(folder.glob("*.log"))
        assert not open_to_others(folder)
    assert any((tmp_path / "data" / "streams" / "plant").iterdir())


def test_what_all_could_read_is_tightened_at_the_start(serve: Serve, tmp_path: Path) -> None:
    server = serve(CONFIG)
    used(server)
    server.stop()
    folder = tmp_path / "data"
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    serve(CONFIG)
    assert not open_to_others(folder)


def test_a_folder_that_is_not_the_servers_alone_stays_as_it_is(serve: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    (folder / "of somebody else").touch()
    server = serve(CONFIG)
    assert folder.stat().st_mode & 0o777 == 0o755
    server.log.wait_for("the folder of the log is accessible to other users of this machine; it contains messages")
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.glob("*.log"))
