"""A program as a user of Spark writes it: a stream becomes Parquet files, exactly once, until somebody ends it."""

import sys

from heliograph.pipeline.session import build_session


def main(server: str, stream: str, most: str, checkpoint: str, output: str) -> None:
    # A task that fails is tried again: with local[2] alone, one failure is the end of the query.
    spark = build_session("to-files", master="local[2,4]", conf={"spark.driver.memory": "1g"}, quick=True)
    messages = (
        spark.readStream.format("heliograph")
        .options(server=server, stream=stream, startingOffsets="earliest", maxMessagesPerTrigger=most)
        .load()
    )
    messages.writeStream.format("parquet").option("checkpointLocation", checkpoint).start(output).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
