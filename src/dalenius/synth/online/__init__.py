"""Online sessions of a private database: pay once, then ask any number of counting questions."""
