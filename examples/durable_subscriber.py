"""A durable subscription: it gathers what is published while its subscriber is away.

helio serve --config examples/queues.toml
python examples/durable_subscriber.py [URL]
"""

import sys

from heliograph.client import Topic, connect


def main(url: str) -> None:
    news = Topic("news/weather")
    # The subscription belongs to the client id, so it is found again by the next connection with that id.
    with connect(url, client_id="weather-station") as connection, connection.session() as session:
        session.consumer(news, subscription="forecasts", durable=True).close()

    with connect(url) as connection, connection.session() as session:
        producer = session.producer(news)
        for forecast in ("sunny", "rain", "snow"):
            producer.send(forecast)

    with connect(url, client_id="weather-station") as connection, connection.session() as session:
        with session.consumer(news, subscription="forecasts", durable=True) as consumer:
            while (message := consumer.receive(timeout=1)) is not None:
                print("missed", message.body)
        session.unsubscribe("forecasts")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "amqp://127.0.0.1:5672")
