"""The bystander itself: it sees when nobody is served."""

import signal
import time

import pytest

from hostile.bystander import Bystander
from running import Serve


def test_a_bystander_is_served_quickly_while_nobody_attacks(serve: Serve) -> None:
    server = serve()
    with Bystander(server.port, pid=server.process.pid) as bystander:
        server.wait_until(lambda figures: bystander.count > 20)
    assert bystander.worst < 5


def test_a_bystander_notices_a_server_that_stands_still(serve: Serve) -> None:
    server = serve()
    with Bystander(server.port, pid=server.process.pid) as bystander:
        server.wait_until(lambda figures: bystander.count > 0)
        server.send_signal(signal.SIGSTOP)
        time.sleep(0.3)  # what is measured is this time
        server.send_signal(signal.SIGCONT)
        before = bystander.count
        server.wait_until(lambda figures: bystander.count > before)
    assert bystander.worst >= 0.25


def test_a_bystander_fails_the_test_if_the_server_goes(serve: Serve) -> None:
    server = serve()
    with pytest.raises(AssertionError, match="not served"), Bystander(server.port, pid=server.process.pid) as bystander:
        server.wait_until(lambda figures: bystander.count > 0)
        server.kill()
