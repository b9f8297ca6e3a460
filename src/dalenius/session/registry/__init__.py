"""The epsilon registry: what each population is used for, and how much of its budget was spent how fast."""
