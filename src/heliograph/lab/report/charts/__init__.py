"""Charts as SVG, made here: a page needs no library and no network to show them."""
