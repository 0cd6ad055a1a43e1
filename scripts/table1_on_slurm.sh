#!/usr/bin/env bash
# Table 1 on a SLURM cluster, and in W&B. On the login node, in a clone on a file system that all nodes share:
#   scripts/table1_on_slurm.sh launcher.partition=gpu launcher.account=me launcher.gpus=1 launcher.cpus=4 launcher.mem_gb=16 launcher.timeout_min=720
# 240 trainings; SCALE=smoke tries the same with 24 runs of seconds; OUTPUT_DIR defaults to outputs. Arguments are options of
# aswd train. The same command resumes after it was stopped: it waits for jobs in the queue and submits what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
scale=${SCALE:-paper}
where=("paths.output_dir=${OUTPUT_DIR:-outputs}")
make --quiet setup
source .venv/bin/activate
if [ "$scale" != smoke ]; then
    aswd data cifar10
    aswd data celeba # or says which files must be put where by hand
fi
aswd reproduce table1 --scale "$scale" "${where[@]}" launcher=slurm logger=wandb "$@"
aswd wandb sync --artifact table1 --scale "$scale" "${where[@]}" # one run per seed, with its label in the table
aswd wandb dashboard table1 --scale "$scale" "${where[@]}"
aswd report "${where[@]}"
