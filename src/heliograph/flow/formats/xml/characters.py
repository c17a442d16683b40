"""Looking for control characters in a document, which has none as a rule: all of it has to be looked at."""

_FEW = 2048


def has_any(text: str, controls: bytes) -> bool:
    """Whether one of these characters, all of them ASCII, is in the text."""
    data = text.encode()
    if len(data) <= _FEW:
        return len(data.translate(None, controls)) != len(data)
    # In a long text, one search for every single byte is faster than anything that looks at each byte once.
    return any(map(data.__contains__, controls))
