"""The lab: put load on this server or any other broker, measure it, find its peak, keep raw data, write reports."""
