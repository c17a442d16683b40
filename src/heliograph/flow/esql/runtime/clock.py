"""The time as a program sees it: that of its evaluation, which does not go on while it runs."""

import time
import uuid
from datetime import date, datetime
from datetime import time as time_of_day
from typing import Any

from heliograph.flow.esql.evaluation import Evaluation
from heliograph.flow.values.errors import BAD_ARGUMENT, ExpressionError
from heliograph.flow.values.intervals import Interval, Qualifier
from heliograph.flow.values.zone import GmtTime, GmtTimestamp, gmt_now, local_now, offset


def current_date(evaluation: Evaluation) -> date:
    """CURRENT_DATE."""
    return local_now(evaluation.now).date()


def current_time(evaluation: Evaluation) -> time_of_day:
    """CURRENT_TIME."""
    return local_now(evaluation.now).time()


def current_timestamp(evaluation: Evaluation) -> datetime:
    """CURRENT_TIMESTAMP."""
    return local_now(evaluation.now)


def current_gmtdate(evaluation: Evaluation) -> date:
    """CURRENT_GMTDATE."""
    return gmt_now(evaluation.now).date()


def current_gmttime(evaluation: Evaluation) -> GmtTime:
    """CURRENT_GMTTIME."""
    return GmtTime(gmt_now(evaluation.now).time())


def current_gmttimestamp(evaluation: Evaluation) -> GmtTimestamp:
    """CURRENT_GMTTIMESTAMP."""
    return GmtTimestamp(gmt_now(evaluation.now))


def local_timezone(evaluation: Evaluation) -> Interval:
    """LOCAL_TIMEZONE: how far local time is ahead of Greenwich."""
    seconds = int(offset(evaluation.now).total_seconds())
    return Interval(seconds // 60 * 60_000_000, Qualifier.HOUR_TO_MINUTE)


def sleep(milliseconds: Any) -> None:
    """SLEEP."""
    if type(milliseconds) is not int or milliseconds < 0:
        raise ExpressionError(BAD_ARGUMENT, f"SLEEP takes milliseconds, not {milliseconds!r}", (milliseconds,))
    time.sleep(milliseconds / 1000)


def uuid_as_char(blob: Any = b"") -> str | None:
    """UUIDASCHAR: of a new identifier, or of 16 bytes."""
    if blob is None:
        return None
    return str(_uuid(blob))


def uuid_as_blob(text: Any = "") -> bytes | None:
    """UUIDASBLOB: a new identifier, or the one that the text says."""
    if text is None:
        return None
    return _uuid(text).bytes


def _uuid(of: Any) -> uuid.UUID:
    if not of:
        return uuid.uuid4()
    try:
        return uuid.UUID(bytes=of) if type(of) is bytes else uuid.UUID(of)
    except (ValueError, AttributeError, TypeError):
        raise ExpressionError(BAD_ARGUMENT, f"{of!r} is no universally unique identifier", (of,)) from None
