"""The end of a process that this one has started."""

import subprocess


def end_process(
    process: "subprocess.Popen[bytes] | subprocess.Popen[str]", patience: float, *, ask: bool = True
) -> int:
    """Ask a process to end, wait, and kill it if it takes longer than `patience` seconds; its exit status.

    `ask=False` only waits before that: for one that has been asked already, as by the end of its standard input.
    """
    if ask:
        process.terminate()
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
