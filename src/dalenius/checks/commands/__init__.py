"""The checks behind `dalenius check`, one file each: what they try, the figure and the goal."""
