"""What is measured for a question, by which mechanism, and at what price."""
