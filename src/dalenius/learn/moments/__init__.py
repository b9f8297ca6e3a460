"""What is made of sums over rows: means, covariances, components, linear regression, naive Bayes and quantiles."""
