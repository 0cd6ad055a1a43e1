"""The package as it is installed and imported."""

import json
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def python(code, *paths):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=environment, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_distances_alone_import_no_framework():
    heavy = "['pytorch_lightning', 'hydra', 'wandb', 'torchvision', 'torchmetrics', 'torch._dynamo', 'ot', 'scipy.optimize']"
    code = f"import sys, aswd.distances; print([m for m in {heavy} if m in sys.modules])"
    assert python(code) == "[]"


WITHOUT_EXPERIMENTS = """
    import re, sys
    from importlib.metadata import packages_distributions, requires

    name = lambda requirement: re.match(r"[\\w.-]+", requirement)[0].lower()
    core, others = set(), {name(each) for each in requires("aswd") if "extra == 'experiments'" in each.replace('"', "'")}
    waiting = [name(each) for each in requires("aswd") if "extra ==" not in each]
    assert set(waiting) == {"torch", "numpy", "scipy", "pot"} and len(others) > 10
    while waiting:
        core.add(package := waiting.pop())
        waiting += {name(each) for each in requires(package) or () if ";" not in each} - core
    missing = {module for module, origins in packages_distributions().items() if {o.lower() for o in origins} <= others - core}
    assert {"hydra", "omegaconf", "pytorch_lightning", "torchvision", "tqdm", "pandas", "matplotlib"} <= missing

    class NotInstalled:
        def find_spec(self, fullname, path, target=None):
            if fullname.partition(".")[0] in missing:
                raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)

    sys.meta_path.insert(0, NotInstalled())
"""


def test_the_distances_need_no_package_of_the_extra_experiments():
    code = """
    import torch
    from aswd.distances import available, build
    from aswd.testing import check_distance

    for each in available():
        distance = build(each, **({"num_projections": 30} if each == "swd_shcv" else {}))
        distance(torch.randn(20, 3, requires_grad=True), torch.rand(15, 3)).backward()
    check_distance("ebsw")
    print(len(available()))
    """
    assert int(python(textwrap.dedent(WITHOUT_EXPERIMENTS) + textwrap.dedent(code))) > 40


def test_without_the_extra_a_command_says_what_is_missing():
    code = """
    from aswd.cli.main import main

    assert main([]) == 0
    print([main(words.split()) for words in ("train task=flow", "reproduce flow_main", "list runs", "report", "bench", "data mnist")])
    """
    environment = {**os.environ}
    program = textwrap.dedent(WITHOUT_EXPERIMENTS) + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines()[-1] == "[2, 2, 2, 2, 2, 2]", done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 6
    assert all("not installed: pip install 'aswd[experiments]' brings" in line for line in lines)


def test_what_only_reads_the_store_or_refuses_a_choice_does_without_lightning():
    mistake = "from aswd.cli.train import main; assert main(['distance=aswdd']) == 2; assert main(['task.lr=x']) == 2"
    for code in (mistake, "import aswd.launchers.status, aswd.runs.cleaning, aswd.cli.listing"):
        assert python(f"import sys\n{code}\nprint('pytorch_lightning' in sys.modules)") == "False"


def test_importing_the_package_has_no_side_effect():
    code = """
        import os, sys
        before = dict(os.environ), list(sys.meta_path), set(sys.modules)
        import aswd
        print(before[0] == dict(os.environ), before[1] == sys.meta_path, {"numpy", "torch"} & (set(sys.modules) - before[2]))
    """
    assert python(code) == "True True set()"


def test_the_real_torchvision_and_what_stands_on_it_can_be_imported():
    code = """
        import aswd.runs, torchvision, torchmetrics, pytorch_lightning, torch_fidelity
        from torchvision.transforms import v2
        from torchvision.utils import make_grid
        import torch
        print(make_grid(torch.zeros(4, 3, 5, 5)).shape[0])
    """
    assert python(code) == "3"


def fake_torchvision(folder, body):
    package = folder / "torchvision"
    package.mkdir()
    (package / "__init__.py").write_text(textwrap.dedent(body))
    (package / "ops.py").write_text("import sys\nLOADED = object()\n")
    return folder


def test_a_torchvision_without_its_operators_is_cured(tmp_path):
    """What the CUDA wheel does beside a CPU torch: the import of a submodule, then a look at an operator that is not there."""
    body = """
        import torch
        from torchvision import ops
        if not hasattr(torch.ops.torchvision, "nms"):
            raise RuntimeError("operator torchvision::nms does not exist")
        version = "cured"
    """
    code = "import aswd.data, torchvision, torch; print(torchvision.version, torch.ops.torchvision.qnms)"
    assert python(code, fake_torchvision(tmp_path, body)) == "cured torchvision.qnms"


def test_a_healthy_torchvision_is_left_alone(tmp_path):
    body = """
        from torchvision import ops
        version = "healthy"
    """
    code = """
        import aswd.data, torchvision, torch
        from aswd.utils import torchvision_import
        print(torchvision.version, torchvision_import._libraries, hasattr(torch.ops.torchvision, "nms"))
    """
    assert python(code, fake_torchvision(tmp_path, body)) == "healthy [] False"


def test_other_faults_of_torchvision_are_not_hidden(tmp_path):
    body = 'raise RuntimeError("no such library")'
    code = """
        import aswd.tasks
        try:
            import torchvision
        except RuntimeError as error:
            print(error)
    """
    assert python(code, fake_torchvision(tmp_path, body)) == "no such library"


@pytest.mark.slow
def test_the_wheel_carries_the_configs(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {f"aswd/configs/{path.relative_to(ROOT / 'configs')}" for path in (ROOT / "configs").rglob("*.yaml")}
    assert expected
    assert expected <= names
    assert "aswd/distances/names.py" in names
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")  # as installed, away from the checkout
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-m", "aswd", "train", "--cfg", "job", "data=knot"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert "name: knot" in done.stdout, done.stderr
    where = subprocess.run(
        [sys.executable, "-c", "from aswd.config import config_dir as c; print(c())"], capture_output=True, env=environment
    )
    assert str(tmp_path).encode() in where.stdout


def aswd(*arguments):
    return subprocess.run([sys.executable, "-m", "aswd", *arguments], capture_output=True, text=True)


def test_help():
    assert "bench" in aswd("--help").stdout
    assert "bench" in aswd().stdout
    assert "--rounds" in aswd("bench", "--help").stdout
    assert aswd("--version").stdout.startswith("aswd ")


@pytest.mark.parametrize("arguments", [("bnech",), ("bench", "--rounds", "1"), ("bench", "--only", "nothing")])
def test_mistakes_end_in_a_sentence(arguments):
    done = aswd(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert arguments[-1] in done.stderr


@pytest.mark.slow
def test_bench_writes_its_table(tmp_path):
    done = aswd("bench", "--only", "swd N=500 d=2 L=10", "--rounds", "3", "--output", str(tmp_path / "b" / "bench.json"))
    assert "to plain" in done.stdout, done.stderr
    (case,) = json.loads((tmp_path / "b" / "bench.json").read_text())["cases"]  # not those of L=100 and L=1000
    assert case["title"] == "swd N=500 d=2 L=10"
    assert {"ours", "plain", "pot"} <= case.keys()


CPUINFO = "processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nflags\t\t: fpu avx2 {flags}\n\nprocessor\t: 1\n"


@pytest.mark.parametrize(
    ("vendor", "family", "flags", "chosen"),
    [
        ("AuthenticAMD", 25, "avx512f", True),
        ("AuthenticAMD", 25, "", False),  # Zen 3
        ("AuthenticAMD", 26, "avx512f", False),  # Zen 5
        ("GenuineIntel", 6, "avx512f", False),
    ],
)
def test_numpy_sorts_without_avx512_on_zen_4_only(tmp_path, vendor, family, flags, chosen):
    (tmp_path / "cpuinfo").write_text(CPUINFO.format(vendor=vendor, family=family, flags=flags))
    code = f"""
        import os, pathlib
        os.environ.pop("NPY_DISABLE_CPU_FEATURES", None)
        import sys
        sys.modules["numpy"] = None  # as if it were there, so that importing aswd changes nothing here
        from aswd.utils import numpy_features
        del sys.modules["numpy"]
        numpy_features.prefer_avx2(pathlib.Path({str(tmp_path / "cpuinfo")!r}))
        import warnings
        warnings.simplefilter("error")  # numpy warns of features that it does not know
        import numpy
        print(os.environ.get("NPY_DISABLE_CPU_FEATURES") is not None)
    """
    assert python(code) == str(chosen)


def test_the_users_word_on_numpy_and_a_numpy_that_is_there_are_left_alone():
    code = """
        import os
        os.environ["NPY_DISABLE_CPU_FEATURES"] = ""
        import aswd.distances
        assert os.environ.pop("NPY_DISABLE_CPU_FEATURES") == ""
        import numpy
        from aswd.utils import numpy_features
        numpy_features.prefer_avx2()
        print("NPY_DISABLE_CPU_FEATURES" in os.environ)
    """
    assert python(code) == "False"
