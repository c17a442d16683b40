"""A receiver in a process of its own, to be killed: `python -m pipeline.spool.receiving URL TOPIC QOS SPOOL`."""

import sys
import threading

from heliograph.pipeline.spool.options import spool_options
from heliograph.pipeline.spool.receiver import Receiver

if __name__ == "__main__":
    _, server, topic, qos, spool = sys.argv
    receiver = Receiver(spool_options({"server": server, "topic": topic, "qos": qos, "spool": spool}))
    print("ready", flush=True)
    threading.Event().wait()
