"""What a question means: relations of rows, passes over them, and their public figures."""
