"""Named sandboxes that stay: many commands enter one, each as confined as a run of its own."""
