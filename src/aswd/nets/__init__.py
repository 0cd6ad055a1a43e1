"""Networks, each as the paper gives it."""
