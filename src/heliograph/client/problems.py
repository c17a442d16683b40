"""The former name of `heliograph.client.errors`, for programs that import from here."""

from heliograph.client.errors import *  # noqa: F403 - the same names, whatever they are
