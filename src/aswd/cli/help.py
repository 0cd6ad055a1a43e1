"""``aswd train --help``."""

from __future__ import annotations

from aswd.config.composition import CommandLine, group_options, plan_runs

GROUPS = ("task", "data", "distance", "reading", "trainer", "callbacks", "logger", "launcher", "experiment")
_HEADER = """aswd train: run an experiment with a distance of your choice, and keep its results.

Usage: aswd train [-m] [--config-dir DIR] [--cfg job] [GROUP=NAME ...] [OPTION=VALUE ...]
"""
_FOOTER = """Everything above can be changed, for example
  aswd train task=flow data=knot distance=swd seed=3
  aswd train data=heart distance.num_projections=100 replicas=50     # fifty seeds as one batch
  aswd train reading=paper                                           # the paper's text instead of the released code
  aswd train -m distance=swd,dswd,aswd 'seed=range(0,10)'            # a sweep: all combinations
  aswd train -m distance=swd,aswd 'seed=range(0,10)' launcher=pool   # on all GPUs or cores; launcher=slurm: on a cluster
  aswd train trainer.max_steps=100 paths.output_dir=/tmp/try         # shorter, written elsewhere
  aswd train logger=[wandb,tensorboard]                              # mirrored to W&B (offline without an account) and TensorBoard
  aswd train callbacks=early_stopping callbacks.early_stopping.patience=5
  aswd train +callbacks.mine._target_=my_module.MyCallback           # your own, from the working directory
  aswd train plugins=my_distance.py distance=my_distance             # your own distance, task or data set
A finished run is skipped (force=true runs it again), an interrupted one resumes from its last checkpoint.
`aswd list distances` (tasks, data) explains the names. --cfg job prints the configuration with every value as it is used."""


def train_help(line: CommandLine) -> str:
    """The groups with their names, and all options with the values that they have with the overrides given.

    Raises:
        UserError: a mistake in the overrides.
    """
    run = plan_runs(line)[0]
    groups = "\n".join(f"{group}: {', '.join(group_options(group, line.config_dirs))}" for group in GROUPS)
    options = run.to_yaml().rstrip()
    return f"{_HEADER}\n== Groups: choose with GROUP=NAME ==\n{groups}\n\n== Options: change with OPTION=VALUE ==\n{options}\n\n{_FOOTER}"
