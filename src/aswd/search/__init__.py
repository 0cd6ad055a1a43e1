"""``aswd search``: hyper-parameters by Optuna, every trial an ordinary run of the store."""
