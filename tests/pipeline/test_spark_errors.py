"""What a person reads when Spark throws."""

from heliograph.pipeline.spark_errors import spark_error_text

WORKER = """\
[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to stage failure: Task 0 failed
  File "/x/worker.py", line 7, in main
    process()
heliograph.errors.Problem: unknown stream "x"; streams are: a, b

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
Caused by: something
"""


def test_our_own_sentence_is_found_in_the_stack_of_a_worker() -> None:
    assert spark_error_text(RuntimeError(WORKER)) == 'unknown stream "x"; streams are: a, b'
    gone = WORKER.replace("heliograph.errors.Problem", "heliograph.log.errors.OffsetGone")
    assert spark_error_text(gone) == 'unknown stream "x"; streams are: a, b'


def test_the_last_of_several_is_the_cause() -> None:
    assert spark_error_text(WORKER + "heliograph.errors.Problem: the real one\n") == "the real one"


def test_otherwise_the_line_with_sparks_error_class_counts() -> None:
    text = "An error occurred\n[UNRESOLVED_COLUMN] no column x\n\tat org.apache"
    assert spark_error_text(text) == "[UNRESOLVED_COLUMN] no column x"


def test_a_python_stack_is_told_by_its_cause() -> None:
    text = """[PYTHON_DATA_SOURCE_ERROR] Failed to plan: Traceback (most recent call last):
  File "/x/reading.py", line 27, in <module>
    import google_crc32c
ModuleNotFoundError: No module named 'google_crc32c'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
UnboundLocalError: cannot access local variable 'reader'
"""
    assert spark_error_text(text) == (
        "[PYTHON_DATA_SOURCE_ERROR] Failed to plan: ModuleNotFoundError: No module named 'google_crc32c'"
    )


def test_anything_else_is_told_with_its_kind() -> None:
    assert spark_error_text(ValueError("bad\nworse")) == "ValueError: bad"
    assert spark_error_text(ConnectionRefusedError()) == "ConnectionRefusedError"
