"""`write.format("heliograph")`: rows become messages of a server, each exactly once.

`options` and `columns` say what a user may write, `messages` turns rows into bytes, `progress` is what the server knows
of how far a task has come, `publishing` is the task itself, and `writing` is what Spark calls.
"""
