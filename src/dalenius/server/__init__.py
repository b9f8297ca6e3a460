"""The server: the same questions over HTTP. What it says, how long that is and when it leaves tells no row."""
