"""`helio bench`: the same load on several brokers, and what it costs them."""
