"""From the fields that a pattern read to a moment, and what a pattern asks of a moment besides its plain fields."""

from datetime import date, datetime, time, timedelta

CENTURY_WINDOW = 53
DEFAULT_YEAR = 1970

Fields = dict[str, int]


def year_of_two_digits(number: int) -> int:
    """Policy: 53 to 99 are of the twentieth century, 00 to 52 of the next."""
    return number + (1900 if number >= CENTURY_WINDOW else 2000)


def week_of_month(day: date) -> int:
    """Weeks begin on Monday; the first is the one that the month begins in."""
    return (day.day + day.replace(day=1).weekday() - 1) // 7 + 1


def moment_of(fields: Fields) -> datetime:
    """What the fields say, without regard to `offset`. ValueError if they contradict the calendar or one another."""
    hour = _hour(fields)
    end_of_day = hour == 24
    clock = time(0 if end_of_day else hour, fields.get("minute", 0), fields.get("second", 0), fields.get("micro", 0))
    if end_of_day and clock != time():
        raise ValueError("hour 24 goes with no minutes and seconds")
    return datetime.combine(_day(fields), clock) + timedelta(days=end_of_day)


def _hour(fields: Fields) -> int:
    if "hour" in fields:
        return fields["hour"]
    hour = fields.get("hour12", 0)
    return hour % 12 + 12 * fields.get("pm", 0)


def _day(fields: Fields) -> date:
    year = fields.get("year", fields.get("week_year", DEFAULT_YEAR))
    weekday = fields.get("weekday")
    if "yearday" in fields:
        day = date(year, 1, 1) + timedelta(days=fields["yearday"] - 1)
        if day.year != year:
            raise ValueError(f"{year} has no day {fields['yearday']}")
    elif "week" in fields:
        return date.fromisocalendar(fields.get("week_year", year), fields["week"], weekday or 1)
    elif weekday and "day" not in fields and ("nth" in fields or "month_week" in fields):
        return _day_by_week(date(year, fields.get("month", 1), 1), fields, weekday)
    else:
        day = date(year, fields.get("month", 1), fields.get("day", 1))
    if weekday and "day" in fields and day.isoweekday() != weekday:
        raise ValueError(f"{day.isoformat()} is not such a day of the week")
    return day


def _day_by_week(first: date, fields: Fields, weekday: int) -> date:
    if "nth" in fields:
        day = first + timedelta(days=(weekday - first.isoweekday()) % 7 + 7 * (fields["nth"] - 1))
    else:
        day = first + timedelta(days=weekday - first.isoweekday() + 7 * (fields["month_week"] - 1))
    if day.month != first.month:
        raise ValueError("the month has no such day of the week")
    return day
