"""The default port of the operators' pages, for the server and for its clients.

No standard has assigned it and no widespread program uses it, and it is below the ports that Linux hands out by itself.
"""

PAGES_PORT = 15880
PAGES_URL = f"http://127.0.0.1:{PAGES_PORT}"
