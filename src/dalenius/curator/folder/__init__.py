"""A curator's folder: what lies where, the catalog as a text that people read, and the locks between processes."""
