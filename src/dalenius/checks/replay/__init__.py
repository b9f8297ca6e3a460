"""Record and replay: what one unit changes in everything that is released, seen at the door."""
