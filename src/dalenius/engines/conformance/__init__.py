"""Whether an engine means what the reference means: made-up tables, expressions and plans, and their comparison.

It ships with the product: `dalenius check engine` runs it on an owner's own engine, and the curator refuses one that
fails the short form of it. Nothing here ever looks at an owner's table.
"""
