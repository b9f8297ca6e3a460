"""Questions: domains, plans, SQL, frames, prices and error bars. No data is read in this room."""
