"""The questions that a release is made for: linear counts over the cells of a grid."""
