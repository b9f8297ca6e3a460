"""Every mechanism in cases so small that its exact law can be computed: the claim is computed, not sampled."""
