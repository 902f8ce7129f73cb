"""A language model as a second pair of eyes: it can raise a verdict and never lower it."""
