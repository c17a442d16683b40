"""Which topics a filter stands for."""


def topic_matches(topic_filter: str, topic: str) -> bool:
    """Whether messages on this topic go to this filter. Both must be valid; shared filters are split before."""
    if topic.startswith("$") and topic_filter[0] in "+#":
        return False  # the standard keeps a server's own topics from wildcards at the first level
    wanted = topic_filter.split("/")
    levels = topic.split("/")
    if wanted[-1] == "#":
        wanted.pop()  # also stands for the parent level itself, so nothing needs to be left for it
        levels = levels[: len(wanted)]
    return len(wanted) == len(levels) and all(want in ("+", level) for want, level in zip(wanted, levels, strict=True))
