"""Progress of a run where the output is no terminal."""

from aswd.cli.main import main


def test_a_log_has_no_bar(tmp_path, capfd):
    arguments = ["train", "distance=swd", "data=knot", "task.iterations=10", "data.num_samples=10", f"paths.output_dir={tmp_path}"]
    assert main(arguments) == 0
    said = capfd.readouterr()
    assert "\r" not in said.out + said.err
    assert "%|" not in said.err
    assert said.out.startswith("flow knot swd seed 0: done")
