"""The client without its network: connections, sessions, links and transactions as state that bytes go in and out of.

A face (asyncio or blocking) owns a `ConnectionCore` and is its `Driver`. Everything in here runs in one thread, except
where a docstring says otherwise.
"""
