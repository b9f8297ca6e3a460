"""What is measured for a query, by which mechanism, at what price and with which error."""
