#!/usr/bin/env bash
# Download and check all data sets: scripts/prepare_data.sh [DIR], by default into data/.
# One that cannot be downloaded does not stop the others; the exit code is their number.
set -uo pipefail
cd "$(dirname "$0")/.."
make --quiet setup || exit
missing=0
for name in mnist fashion_mnist cifar10 celeba; do
    .venv/bin/aswd data "$name" --root "${1:-data}" || missing=$((missing + 1))
done
exit "$missing"
