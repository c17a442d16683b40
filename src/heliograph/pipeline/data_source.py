"""The data sources "heliograph" and "mqtt" of Spark (reading is in `pipeline.source`, writing in `pipeline.sink`).

Each side is imported on first use, because Spark creates this object in several processes, most of which need one side
only.
"""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from heliograph.pipeline.errors import InvalidOption
from heliograph.pipeline.spark_errors import plain_errors

__all__ = ["SOURCES", "FilteringDataSource", "HeliographDataSource", "MqttDataSource"]


@plain_errors
class HeliographDataSource(DataSource):
    """Streams of a server as rows, and rows as messages of a server."""

    @classmethod
    def name(cls) -> str:
        return "heliograph"

    def schema(self) -> StructType:
        from heliograph.pipeline.source import reading

        return reading.source_schema(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        from heliograph.pipeline.source import reading

        return reading.batch_reader(schema, self.options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from heliograph.pipeline.source import reading

        return reading.stream_reader(schema, self.options)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from heliograph.pipeline.sink import writing

        return writing.batch_writer(schema, overwrite, self.options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        from heliograph.pipeline.sink import writing

        return writing.stream_writer(schema, overwrite, self.options)


@plain_errors
class FilteringDataSource(HeliographDataSource):
    """The same with filter pushdown, for sessions with `spark.sql.python.filterPushdown.enabled`.

    Spark refuses such a source in other sessions, so the one that people register themselves has no pushdown.
    """

    def reader(self, schema: StructType) -> DataSourceReader:
        from heliograph.pipeline.source import reading

        return reading.filtering_reader(schema, self.options)


@plain_errors
class MqttDataSource(DataSource):
    """Messages of any MQTT broker as rows, by way of a durable spool."""

    @classmethod
    def name(cls) -> str:
        return "mqtt"

    def schema(self) -> StructType:
        from heliograph.pipeline.spool import reading

        return reading.spool_schema(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        raise InvalidOption(
            'a broker can be followed, but not looked through; expected spark.readStream.format("mqtt")'
        )

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from heliograph.pipeline.spool import reading

        return reading.spool_reader(schema, self.options)


SOURCES: tuple[type[DataSource], ...] = (FilteringDataSource, MqttDataSource)
"""What `heliograph.pipeline.register` makes known."""
