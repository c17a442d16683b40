"""`helio mqsc` against a server: from a file, from standard input, and at a terminal."""

import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.queue_server import CONFIG, QueueServer, write
from cli.queue_server import helio as run_helio
from heliograph.client import Queue, connect
from running import PATIENCE, environment, helio, servers


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueServer]:
    with servers(tmp_path_factory.mktemp("mqsc")) as start:
        yield QueueServer(start(CONFIG))


SCRIPT = b"""\
* A queue for orders, and where bad ones go
DEFINE QLOCAL(BAD)
DEFINE QLOCAL(GOOD) +
       MAXDEPTH(10) DEFPSIST(YES) BOTHRESH(3) BOQNAME(BAD) TRIGGER
DEFINE QALIAS('good') TARGET(GOOD)
DEFINE QMODEL(MINE) DEFTYPE(TEMPDYN)
ALTER QLOCAL(GOOD) DESCR('For orders')
DISPLAY QUEUE(GOOD) MAXDEPTH BOQNAME DESCR
DISPLAY QSTATUS(GOOD) CURDEPTH
CLEAR QLOCAL(GOOD)
DELETE QALIAS('good')
DELETE QMODEL(MINE)
DELETE QLOCAL(GOOD)
DELETE QLOCAL(BAD)
END
"""


def test_a_file_is_run_with_its_lines_shown_and_a_summary(server: QueueServer, tmp_path: Path) -> None:
    out = server.done("mqsc", write(tmp_path, "script.mqsc", SCRIPT))
    lines = out.splitlines()
    assert lines[:2] == ["     1 : DEFINE QLOCAL(BAD)", "local queue BAD defined"]
    assert "       :        MAXDEPTH(10) DEFPSIST(YES) BOTHRESH(3) BOQNAME(BAD) TRIGGER" in lines
    assert f"{tmp_path}/script.mqsc:4:60: note: TRIGGER has no effect here" in lines
    assert "   QUEUE(GOOD)                             TYPE(QLOCAL)" in lines
    assert "   DESCR('For orders')                     MAXDEPTH(10)" in lines
    assert lines[-1] == "12 commands read, 0 have syntax errors, 0 failed"


def test_standard_input_is_run_to_its_end_and_mistakes_make_the_status_1(server: QueueServer) -> None:
    status, out, err = server.helio("mqsc", stdin=b"DELETE QLOCAL(NOBODY)\nFLY\nDISPLAY QMGR\n")
    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert lines[1] == "standard input:1:1: failed: there is no queue NOBODY"
    assert lines[3].startswith("standard input:2:1: expected one of DEFINE,")
    assert lines[5].startswith("   QMNAME('heliograph')")
    assert lines[-1] == "3 commands read, 1 has syntax errors, 1 failed"


def test_new_queues_begin_with_the_attributes_of_the_default_queue(server: QueueServer) -> None:
    script = b"""\
ALTER QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE) MAXDEPTH(77)
DEFINE QLOCAL(LATER)
DISPLAY QLOCAL(LATER) MAXDEPTH
DELETE QLOCAL(LATER)
DELETE QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE)
"""
    assert "   MAXDEPTH(77)" in server.done("mqsc", stdin=script).splitlines()


def test_a_file_that_is_not_there_is_a_problem(server: QueueServer) -> None:
    assert server.problem("mqsc", "/no/such/file") == "helio mqsc: cannot read /no/such/file: No such file or directory"


def test_at_a_terminal_it_prompts_goes_on_after_mistakes_and_leaves_with_end(server: QueueServer) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        helio("mqsc", "--url", server.url), stdin=theirs, stdout=subprocess.PIPE, env=environment(TERM="dumb")
    )
    os.close(theirs)
    os.write(ours, b"FLY\nDISPLAY +\nQLOCAL('orders') MAXDEPTH\nEND\n")
    out, _ = process.communicate(timeout=PATIENCE)
    os.close(ours)
    assert process.returncode == 0
    assert b"mqsc> " in out
    assert b"mqsc:1:1: expected one of DEFINE" in out
    assert b"MAXDEPTH(5000)" in out


def test_a_subscription_brings_messages_of_a_topic_and_dead_letters_go_where_they_are_sent(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    script = b"""\
DEFINE QLOCAL(NEWS) BOTHRESH(1)
DEFINE QLOCAL(BIN)
DEFINE SUB(ALL.NEWS) TOPICSTR('news/#') DEST(NEWS)
ALTER QMGR DEADQ(BIN)
DISPLAY SUB(*)
"""
    folder = tmp_path_factory.mktemp("subscriptions")
    with servers(folder) as start:
        first = start(CONFIG + f'[storage]\ndirectory = "{folder}/data"\n')
        out = QueueServer(first).done("mqsc", stdin=script).splitlines()
        assert "   SUB(ALL.NEWS)                           TOPICSTR('news/#')" in out
        first.stop()
        server = QueueServer(start(CONFIG + f'[storage]\ndirectory = "{folder}/data"\n'))  # all of it is kept
        where = ("-h", "127.0.0.1", "-p", str(server.server.port))
        assert run_helio("pub", *where, "-q", "1", "-t", "news/today", "-m", "hear") == (0, "", "")
        with connect(server.url) as connection, connection.session("individual") as session:
            assert session.consumer(Queue("NEWS")).receive(PATIENCE)  # which is not acknowledged, and has failed
        assert server.done("queue", "get", "BIN", "--timeout", "20") == "hear\n"
        assert "DEADQ(BIN)" in server.done("mqsc", stdin=b"DISPLAY QMGR\n")
        done = server.done("mqsc", stdin=b"DELETE SUB(ALL.NEWS)\nALTER QMGR DEADQ(' ')\nDISPLAY SUB(*)\n")
        assert "dead letters go to SYSTEM.DEAD.LETTER.QUEUE" in done
        assert "TOPICSTR" not in done


def test_a_subscription_that_makes_no_sense_fails(server: QueueServer) -> None:
    script = b"""\
DEFINE SUB(S) TOPICSTR('a/#') DEST(NOBODY)
DEFINE SUB(S) TOPICSTR('a/#b') DEST('orders')
DEFINE SUB(S) TOPICSTR('a') DEST('orders') SELECTOR('n >')
DELETE SUB(S)
ALTER QMGR DEADQ(NOBODY)
"""
    status, out, _ = server.helio("mqsc", stdin=script)
    assert status == 1
    assert out.count(": failed: ") == 5
