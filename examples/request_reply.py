"""Requests and replies: one side asks for prices, the other knows them.

helio serve --config examples/queues.toml
python examples/request_reply.py [URL]
"""

import sys

from heliograph.client import Message, connect

PRICES = {"chair": 40, "table": 120}


def main(url: str) -> None:
    with connect(url) as connection:
        # The server of this service: a listener runs in a thread of its session.
        serving = connection.session()
        replies = serving.producer(persistent=False)

        def answer(request: Message) -> None:
            price = PRICES.get(request.body)
            replies.send(Message(price, correlation_id=request.correlation_id), request.reply_to)

        serving.consumer("prices").listen(answer)

        # Its client: one call sends the request, and waits for the reply in a temporary queue.
        asking = connection.session()
        for thing in ("chair", "table", "unicorn"):
            print(thing, asking.request("prices", thing, timeout=10).body)
        serving.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "amqp://127.0.0.1:5672")
