"""Code from outside: loading it, failing at it, and saying what it was."""

import functools
import json
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

from aswd.utils import plugins
from aswd.utils.errors import UserError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory of the user's own; what was imported from it is forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def run(code, path, cwd="/"):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), str(Path(plugins.__file__).parents[2])])}
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=environment, cwd=cwd)


def install(folder, name, code, group="aswd.plugins", version="1.0"):
    """As pip would leave a package with one module and one entry point."""
    (folder / f"{name}.py").write_text(code)
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {name}\n")


GOOD = "from aswd.distances import Linear, register, available\navailable()\nregister('{0}')(Linear)\n"


def test_a_broken_entry_point_is_named_once_and_the_rest_works(tmp_path):
    install(tmp_path, "broken_plugin", "import there_is_no_such_module")
    install(tmp_path, "leaving_plugin", "raise SystemExit('gone')")
    install(tmp_path, "good_plugin", GOOD.format("swd_good"))
    install(tmp_path, "old_plugin", GOOD.format("swd_old"), group="aswd.distances", version="2.5")
    code = """
        from aswd.distances import build, available, distance_info
        build("swd"); build("aswd")
        print([name for name in ("swd_good", "swd_old") if name in available()], distance_info("swd_old")["version"])
    """
    done = run(code, tmp_path)
    assert done.stdout == "['swd_good', 'swd_old'] 2.5\n", done.stderr
    lines = sorted(done.stderr.splitlines())
    assert len(lines) == 2
    assert lines[0] == (
        "aswd: the plug-in 'broken_plugin' of the package broken_plugin could not be loaded and is left out: "
        "ModuleNotFoundError: No module named 'there_is_no_such_module'"
    )
    assert "'leaving_plugin'" in lines[1]
    assert lines[1].endswith("SystemExit: gone")


def test_config_folders_of_packages(tmp_path):
    for name in ("installed", "given", "without"):
        (tmp_path / name / ("nothing" if name == "without" else "configs")).mkdir(parents=True)
        (tmp_path / name / "__init__.py").touch()
    install(tmp_path, "installed", "")
    (tmp_path / "installed.py").unlink()
    code = "from aswd.utils.plugins import *; load_plugins(['given', 'without']); print(*config_dirs())"
    done = run(code, tmp_path)
    assert done.stdout.split() == [str(tmp_path / name / "configs") for name in ("given", "installed")], done.stderr


def test_a_file_of_the_working_directory_has_its_plain_name(folder):
    (folder / "my_thing.py").write_text("import helper_of_mine\nclass Thing: pass\n")
    (folder / "helper_of_mine.py").write_text("VALUE = 3\n")
    (module,) = plugins.load_plugins(["my_thing.py"])
    assert module.__name__ == "my_thing"
    assert plugins.load_plugins(["my_thing", "./my_thing.py", str(folder / "my_thing.py")]) == [module] * 3
    assert type(pickle.loads(pickle.dumps(module.Thing()))) is module.Thing


def test_a_file_whose_name_is_taken_has_one_of_its_own_and_hides_nothing(folder):
    other = folder / "elsewhere"
    other.mkdir()
    (other / "json.py").write_text("class Thing: pass\n")
    (folder / "my-thing.py").write_text("X = 1\n")
    (folder / "twin_file.py").write_text("X = 1\n")
    (other / "twin_file.py").write_text("import beside_twin\nX = 2\n")
    (other / "beside_twin.py").write_text("")
    first, dashed = plugins.load_plugins(["elsewhere/json.py", "my-thing.py"])
    twins = plugins.load_plugins(["twin_file.py", "elsewhere/twin_file.py", "twin_file"])
    assert [twin.X for twin in twins] == [1, 2, 1]
    assert first.__name__.startswith("aswd_plugin_json_")
    assert dashed.X == 1
    assert plugins.load_plugins([plugins.resolve_plugin("elsewhere/json.py")]) == [first]
    assert type(pickle.loads(pickle.dumps(first.Thing()))) is first.Thing
    assert json.loads("1") == 1


def test_loading_twice_registers_once_and_an_edit_registers_again(folder):
    code = """
        from pathlib import Path
        from aswd.distances import options, distance_info
        from aswd.utils.plugins import load_plugins
        text = "from aswd.distances import Linear, register\\nregister('mine', num_projections={0})(Linear)\\n"
        path = Path("mine.py")
        seen = []
        for number in (3, 3, 4):
            path.write_text(text.format(number))
            load_plugins(["mine.py"])
            import mine
            seen.append((options("mine")["num_projections"], distance_info("mine")["digest"]))
        print(seen[0] == seen[1], seen[2][0], seen[1][1] != seen[2][1])
    """
    done = run(code, folder, cwd=folder)
    assert done.stdout == "True 4 True\n", done.stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1\nraise RuntimeError('no luck\\ntoday')\n", r"bad.py could not be loaded: RuntimeError: no luck \(line 2 of .*bad.py\)$"),
        ("x = 1\n\ndef f(:\n", r"bad.py could not be loaded: SyntaxError: .* \(line 3 of .*bad.py\)$"),
        ("def f():\n    return 1 / 0\nf()\n", r"bad.py could not be loaded: ZeroDivisionError: division by zero \(line 2 of .*bad.py\)$"),
        ("import nowhere_to_be_found\n", r"ModuleNotFoundError: No module named 'nowhere_to_be_found' \(line 1 of .*bad.py\)$"),
    ],
)
def test_a_file_that_fails_is_named_with_the_line(folder, text, sentence):
    (folder / "bad.py").write_text(text)
    for _ in range(2):  # nothing half loaded is left behind
        with pytest.raises(UserError, match=sentence):
            plugins.load_plugins(["bad.py"])


def test_what_is_not_there(folder):
    with pytest.raises(UserError, match=r"got 'nothing\.py', and there is no such file"):
        plugins.load_plugins(["nothing.py"])
    with pytest.raises(UserError, match=r"there is no module 'nothing\.at\.all'$"):
        plugins.load_plugins(["nothing.at.all"])
    (folder / "dotted.name.py").write_text("")
    with pytest.raises(UserError, match=r"there is no module 'dotted\.name': for a file write plugins=dotted\.name\.py"):
        plugins.load_plugins(["dotted.name"])


def test_code_of_ours_and_of_our_libraries_has_no_identity():
    from aswd.distances import Linear

    for thing in (
        Linear,
        Linear(),
        "aswd.distances",
        torch,
        torch.nn.Linear,
        torch.nn.Linear(1, 1),
        len,
        json,
        functools.partial(len),
        "os.path",
    ):
        assert plugins.plugin_info(thing) is None
        assert plugins.source_digest(thing) is None


def test_the_digest_is_of_a_file_and_of_what_it_imports_beside_it(folder):
    def digest(name, **files):
        root = folder / name
        (root / "package").mkdir(parents=True)
        for stem, text in files.items():
            (root / f"{stem}.py").write_text(text)
        (root / "package" / "__init__.py").write_text("Y = 1\n")
        (root / "package" / "deep.py").write_text(files.get("deep", "Z = 1\n"))
        code = f"from aswd.utils.plugins import *; m, = load_plugins(['main_file.py']); print(plugin_info(m.f)['digest'])  # {name}"
        return run(code, root, cwd=root).stdout.strip()

    main = "import sys\nfrom helper import X\nfrom package.deep import Z\ndef f(): pass\n"
    first = digest("a", main_file=main, helper="import other\nX = 1\n", other="", unrelated="1\n")
    assert len(first) == 64
    assert digest("b", main_file=main, helper="import other\nX = 1\n", other="", unrelated="2\n") == first
    assert digest("c", main_file=f"{main}\n", helper="import other\nX = 1\n", other="", unrelated="1\n") != first
    assert digest("d", main_file=main, helper="import other\nX = 2\n", other="", unrelated="1\n") != first
    assert digest("e", main_file=main, helper="import other\nX = 1\n", other="1\n", unrelated="1\n") != first
    assert digest("f", main_file=main, helper="import other\nX = 1\n", other="", unrelated="1\n", deep="Z = 2\n") != first


def test_the_digest_of_a_package_is_of_all_its_code(folder):
    def digest(sibling):
        package = folder / "their_package"
        (package / "inner").mkdir(parents=True, exist_ok=True)
        (package / ".venv" / "lib").mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text("__version__ = '3.1'\n")
        (package / "inner" / "__init__.py").write_text("")
        (package / "inner" / "thing.py").write_text("class Thing: pass\n")
        (package / "sibling.py").write_text(sibling)
        (package / "notes.txt").write_text(sibling)
        (package / ".venv" / "lib" / "x.py").write_text(sibling)
        code = "from aswd.utils.plugins import *; m, = load_plugins(['their_package.inner.thing']); print(plugin_info(m.Thing()))"
        return run(code, folder, cwd=folder).stdout.strip()

    first = digest("1\n")
    assert "'module': 'their_package.inner.thing', 'version': '3.1'" in first
    assert digest("1\n") == first
    assert digest("2\n") != first


def test_base_classes_from_outside_count(folder):
    (folder / "base_of_theirs.py").write_text("class Base: pass\n")
    (folder / "derived_of_theirs.py").write_text("from base_of_theirs import Base\nclass Derived(Base): pass\n")
    base, derived = plugins.load_plugins(["base_of_theirs.py", "derived_of_theirs.py"])
    info = plugins.plugin_info(derived.Derived)
    assert info["module"] == "derived_of_theirs"
    assert info["version"] is None
    assert info["digest"] not in (plugins.source_digest(base.Base), None)


def test_files_of_one_name_in_two_folders_both_count(folder):
    digests = set()
    for number, text in enumerate(("X = 1\n", "X = 2\n")):
        for side in ("left", "right"):
            (folder / f"{side}_{number}").mkdir()
            (folder / f"{side}_{number}" / "same_name.py").write_text(text if side == "left" else "Y = 1\n")
        digests.add(plugins.source_digest(*plugins.load_plugins([f"left_{number}/same_name.py", f"right_{number}/same_name.py"])))
    assert len(digests) == 2


def test_the_digest_is_of_what_was_loaded_not_of_a_later_edit(folder):
    (folder / "edited_later.py").write_text("def f(): return 1\n")
    (module,) = plugins.load_plugins(["edited_later.py"])
    before = plugins.source_digest(module.f)
    (folder / "edited_later.py").write_text("def f(): return 2\n")
    assert plugins.source_digest(module.f) == before
    (module,) = plugins.load_plugins(["edited_later.py"])
    assert module.f() == 2
    assert plugins.source_digest(module.f) != before


def test_code_without_a_source_has_no_digest():
    code = "from aswd.utils.plugins import *\ndef f(): pass\nprint(plugin_info(f))"
    assert run(code, "/").stdout == "{'module': '__main__', 'version': None, 'digest': None}\n"


def test_output_of_a_plug_in_does_not_mix_with_ours_and_a_slow_one_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(plugins, "PATIENCE", 0.1)
    (tmp_path / "talking.py").write_text("import time\nprint('hello')\ntime.sleep(0.5)\n")
    plugins.load_plugins([str(tmp_path / "talking.py")])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"hello\naswd: still loading the plug-in {tmp_path / 'talking.py'} ...\n"


@pytest.mark.parametrize("statement", ["import sys; sys.exit(3)", "raise BaseException('x')"])
def test_a_plug_in_that_exits_is_named(statement, tmp_path):
    (tmp_path / "exiting.py").write_text(statement)
    with pytest.raises(UserError, match=r"the plug-in .*exiting.py could not be loaded: (SystemExit: 3|BaseException: x) \(line 1 of"):
        plugins.load_plugins([str(tmp_path / "exiting.py")])
