"""Where the operators' pages are unless somebody says otherwise, for the server and for those who look for them.

A port that no standard has given away and no widespread program uses, below those that Linux hands out by itself.
"""

PAGES_PORT = 15880
PAGES_URL = f"http://127.0.0.1:{PAGES_PORT}"
