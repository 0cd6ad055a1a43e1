"""Runs the Python blocks of README.md and docs/, and composes or parses their commands: python -m tests.documentation WHAT FOLDER.

All in one process, since starting one takes longer than most of what is run; prints a line of JSON: the failures by block or command.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import shlex
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
DISTANCE = 'register("gswd_sine")'  # the block that the pages call my_distance.py

MODULE = """
import torch
from pytorch_lightning import Callback


class MyCallback(Callback):
    def __init__(self, option=1):
        self.option = option


class MeanDifference(torch.nn.Module):
    def __init__(self, scale=1.0):
        super().__init__()
"""
CONF = {"callbacks": "mine: {_target_: my_module.MyCallback, option: 3}\n", "distance": "_target_: my_module.MeanDifference\n"}


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language ("" for commands); their indentation, in lists and tabs, is taken off."""
    fences = re.findall(rf"^( *)```{language}\n(.*?)^\1```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in fences]


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every command of ours and of every make, without comments; those with ``...`` are left out."""
    for block in blocks(page, ""):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&", line):
                if re.match(r"\s*(aswd|make) ", part) and "..." not in part:
                    words = shlex.split(part.replace("$cluster", "launcher=slurm launcher.partition=gpu"), comments=True)
                    yield [word for word in words if not word.startswith("OPTIONS=")]


def main(what: str, folder: Path) -> dict[str, str]:
    """The failures."""
    run = {"blocks": run_block, "commands": run_command}[what]
    if what == "blocks":
        items = [(f"{page.name}-{number}", text) for page in PAGES for number, text in enumerate(blocks(page, "python"))]
    else:
        items = list({shlex.join(words): (shlex.join(words), words) for page in PAGES for words in commands(page)}.values())
        prepare(folder)
    failures = {}
    for name, item in items:
        (folder / name).mkdir() if what == "blocks" else None
        os.chdir(folder / name if what == "blocks" else folder)
        try:
            run(item)
        except BaseException:
            failures[name] = traceback.format_exc()
    if not items:
        failures["nothing"] = "no block or command was found"
    return failures


def run_block(text: str) -> None:
    """As a script of its own."""
    Path("example.py").write_text(text)
    runpy.run_path("example.py", run_name="__main__")


def prepare(folder: Path) -> None:
    """The files that the commands of the pages name."""
    import numpy as np
    from PIL import Image

    points, image = np.random.default_rng(0).random((20, 2)), np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    np.save(folder / "target.npy", points)
    np.savetxt(folder / "start.csv", points, delimiter=",")
    (folder / "DIR").mkdir()
    for name in ("holiday.jpg", "sunset.png", *(f"DIR/{number}.png" for number in range(700))):
        Image.fromarray(image).save(folder / name)
        image[:8, :8] = np.frombuffer(name.ljust(192)[:192].encode(), np.uint8).reshape(8, 8, 3)  # no two alike
    Image.fromarray(np.where(np.indices((32, 32)).sum(0) > 40, 255, 0).astype(np.uint8)).save(folder / "my_shape.png")
    (folder / "mesh.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    distance = next(block for page in PAGES for block in blocks(page, "python") if DISTANCE in block)
    (folder / "my_distance.py").write_text(distance)
    parts = next(block for page in PAGES for block in blocks(page, "python") if 'register("median")' in block)
    (folder / "my_parts.py").write_text(parts)
    (folder / "my_module.py").write_text(MODULE)
    for group, text in CONF.items():
        (folder / "conf" / group).mkdir(parents=True)
        (folder / "conf" / group / "mine.yaml").write_text(text)
    sys.path.insert(0, str(folder))


def run_command(words: list[str]) -> None:
    """Compose what would be run, and check every name; list and describe for real."""
    from aswd.artifacts.declaration import load
    from aswd.cli.main import _parser
    from aswd.cli.main import main as aswd
    from aswd.config.composition import parse_command_line, plan_runs

    program, *arguments = words
    if program == "make":
        (target, *_) = [word for word in arguments if "=" not in word]
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), f"make has no target {target}"
        return
    if arguments[0] == "train":
        assert plan_runs(parse_command_line(arguments[1:]))
        return
    if arguments[0] == "list":
        assert aswd(arguments) == 0
        return
    options, _ = _parser().parse_known_args(arguments)
    artifact = getattr(options, "artifact", None)
    if artifact not in (None, "all") and not (options.config_dir and artifact == "<name>"):
        load(artifact, tuple(options.config_dir)).scale(options.scale)


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()):
        found = main(sys.argv[1], Path(sys.argv[2]).resolve())
    print(json.dumps(found))
