"""The benchmark of the GAN, at a size that takes no time."""

import json

from aswd.bench import gan


def test_a_table_with_all_parts(tmp_path, capsys):
    case = gan.Case("aswd", 5, batch_size=8, width=2)
    gan.run(tmp_path / "gan.json", rounds=3, cases=[case, gan.Case("swd", 5, batch_size=8, width=2)])
    found = json.loads((tmp_path / "gan.json").read_text())["cases"]
    assert [line["title"] for line in found] == ["aswd L=5", "swd L=5"]
    for line in found:
        whole, networks, distance = (sorted(column)[1] for column in zip(*line["seconds"], strict=True))
        assert line["ratio"] == whole / (networks + distance)
        assert min(whole, networks, distance) > 0
    assert "aswd L=5" in capsys.readouterr().out
