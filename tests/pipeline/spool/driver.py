"""A driver to be killed: `python -m pipeline.spool.driver URL FOLDER` writes what the broker has to Parquet files."""

import json
import sys
from pathlib import Path

from heliograph.pipeline.session import build_session


def is_subscribed(spool: Path) -> bool:
    """Whether the broker keeps messages for a spool."""
    known = spool / "spool.json"
    return known.exists() and json.loads(known.read_text())["subscribed"] is True


if __name__ == "__main__":
    _, server, folder = sys.argv
    spark = build_session("killed", quick=True, conf={"spark.driver.memory": "1g"})
    frame = spark.readStream.format("mqtt").options(
        server=server, topic="plant/#", spool=f"{folder}/spool", qos="2", client_id="spark"
    )
    query = (
        frame.load()
        .writeStream.format("parquet")
        .options(path=f"{folder}/out", checkpointLocation=f"{folder}/checkpoint")
        .start()
    )
    while not is_subscribed(Path(folder) / "spool"):
        query.processAllAvailable()
    print("ready", flush=True)
    query.awaitTermination()
