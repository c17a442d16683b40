"""What commands of several folders use: options for attributes, connections, tables, colours, signals."""
