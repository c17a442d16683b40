"""A work queue with units of work: an order becomes an invoice, or stays an order.

helio serve --config examples/queues.toml
python examples/work_queue.py [URL]
"""

import sys

from heliograph.client import Message, connect


def main(url: str) -> None:
    with connect(url) as connection:
        with connection.session() as shop:
            orders = shop.producer("orders")
            for number, price in enumerate([40, 120, -1, 15]):
                orders.send(Message({"number": number, "price": price}, type="order"))

        with connection.session("transacted") as work:
            source, invoices = work.consumer("orders"), work.producer("invoices")
            while (order := source.receive(timeout=1)) is not None:
                invoices.send(Message({"for": order.body["number"], "sum": order.body["price"]}))
                if order.body["price"] >= 0:
                    # The order is gone and the invoice is there, both or neither.
                    work.commit()
                elif order.delivery_count < 3:
                    # Neither: the order comes again.
                    work.rollback()
                else:
                    work.rollback()
                    print("gave up on order", order.body["number"], "after", order.delivery_count, "times")
                    source.receive(timeout=1)
                    work.commit()

        with connection.session() as office:
            consumer = office.consumer("invoices")
            while (invoice := consumer.receive_nowait()) is not None:
                print("invoice", invoice.body)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "amqp://127.0.0.1:5672")
