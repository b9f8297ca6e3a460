"""Declarations that an owner only has to complete: what a file's header says, and bounds that were estimated."""
