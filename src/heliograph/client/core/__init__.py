"""The client without its network: connections, sessions, links and transactions as a state machine over bytes.

A front end (`aio` or `blocking`) owns a `ConnectionCore` and is its `Driver`. All code here runs in one thread, except
where a docstring says otherwise. From the bottom up:

- `settings`, `subscriptions`: options of the application;
- `wire`: the engine of the current network connection, and requests to the server;
- `inbox`, `link_end`, `sender`, `transaction`: our ends of links, attached again after a loss;
- `session_links`: what producers and requests use of their session;
- `producer`, `consumer`, `requests`: what the application sends and receives with;
- `session`, `failover`, `connection`.

Steps that need an answer of the server are coroutines that await a `Pending`; there is no event loop in here.
"""
