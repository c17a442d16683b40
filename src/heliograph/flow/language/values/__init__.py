"""ESQL values: their types, text forms, casts, comparison, arithmetic and scalar functions.

| ESQL | Python |
|---|---|
| NULL, UNKNOWN | None |
| BOOLEAN | bool |
| INTEGER | int, 64 bits, checked by whatever makes one |
| FLOAT | float |
| DECIMAL | decimal.Decimal, 34 digits, always by `types.CONTEXT` |
| CHARACTER | str |
| BLOB | bytes |
| BIT | bits.Bits |
| DATE, TIME, TIMESTAMP | datetime.date, datetime.time, datetime.datetime, without zone: local time |
| GMTTIME, GMTTIMESTAMP | times.GmtTime, times.GmtTimestamp |
| INTERVAL | times.Interval |

`bool` is an `int` and `datetime` a `date` to Python, not to ESQL: everything here looks at the exact type of a value.
Values are immutable. NULL in gives NULL out, unless a function says otherwise.
"""
