"""Routing: the subscription tree, the routes of topics, and bindings of topic filters to queues."""
