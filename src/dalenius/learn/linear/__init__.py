"""Linear classifiers: logistic regression and the support vector machine."""
