"""What wandb wrote, read back by its own reader."""

import json
import subprocess
import sys
from pathlib import Path


def wandb_files(folder):
    """All transaction logs below ``folder``, by the id of their run."""
    return {path.stem.removeprefix("run-"): path for path in sorted(Path(folder).rglob("*.wandb"))}


def read_wandb(path):
    """The records of one run, by type."""
    command = [str(Path(sys.executable).parent / "wandb"), "leet", "inspect", "--json", str(path)]
    found = {}
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        record = json.loads(line)
        found.setdefault(record["type"], []).append(record[record["type"]])
    return found


def summary_of(found):
    """The last word on every entry of the summary."""
    return {name: value for update in found["summary"] for name, value in update.get("update", {}).items()}


def media_of(found):
    """The names under which pictures, animations and tables were logged."""
    return {
        name.removesuffix("._type"): value for row in found["history"] for name, value in row["item"].items() if name.endswith("._type")
    }
