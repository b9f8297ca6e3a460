"""After the noise: values, error bars, and what is shown."""
