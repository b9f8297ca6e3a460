"""The other end of the server: a session over HTTP that asks, pays and fails like one in the same process."""
