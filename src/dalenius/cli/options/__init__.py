"""The options of the commands, a file a group."""
