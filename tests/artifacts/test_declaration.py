"""Artifacts as their files declare them."""

import pytest

from aswd.artifacts import declaration
from aswd.artifacts.cells import cells
from aswd.artifacts.claims import CLAIMS
from aswd.artifacts.declaration import SCALES, artifact_names, load
from aswd.artifacts.kinds import kind_names, needs_no_runs
from aswd.distances import READINGS
from aswd.utils.errors import UserError


@pytest.mark.slow
@pytest.mark.parametrize("name", artifact_names())
def test_every_artifact_is_complete(name):
    artifact = load(name)
    assert tuple(artifact.scales) == SCALES
    assert artifact.about
    assert artifact.draw in kind_names()
    if needs_no_runs(artifact.draw):
        assert artifact.claims in (("P1",), ("M2",))
        return
    assert set(artifact.claims) <= set(CLAIMS)
    labels = [series.label for series in artifact.series]
    assert len(set(labels)) == len(labels)
    for scale in SCALES:
        assert all(cell.spec.seeds for cell in cells(artifact, scale, "reference", "outputs"))


def test_they_come_in_the_order_of_the_paper():
    names = artifact_names()
    assert names[:2] == ["projections", "flow_main"]
    assert names[-3:] == ["barycenter", "table1", "readings"]  # what is ours comes last
    assert names.index("mnist_cost") + 1 == names.index("cost_scaling")  # 14a and 14b


def test_a_scale_may_show_a_part_of_the_data_and_a_series_may_have_a_reading_of_its_own():
    ablation = load("ablation_maps")
    assert len(ablation.data) == 8
    part = {"swiss_roll", "knot"}
    assert {cell.data for cell in cells(ablation, "laptop", "reference", "outputs")} == part
    assert {cell.data for cell in cells(ablation, "paper", "reference", "outputs")} == set(ablation.data)
    keys = {cell.label: cell.spec.key for cell in cells(load("readings"), "laptop", "reference", "outputs") if cell.data == "knot"}
    main = {reading: cells(load("flow_main"), "laptop", reading, "outputs") for reading in READINGS}
    ours = {reading: cell.spec.key for reading in READINGS for cell in main[reading] if (cell.data, cell.label) == ("knot", "ASWD")}
    assert {"reference": keys["ASWD"], "paper": keys["ASWD (paper)"], "algorithm1": keys["ASWD (algorithm1)"]} == ours


def test_the_published_figure_is_read_as_the_facts_say():
    full = load("flow_full")
    assert full.published_value("swiss_roll", "ASWD", "log10_w2") == -4.75
    assert full.published_value("gaussians_25", "GSW-NN 1", "log10_w2") == -3.8
    assert full.published_value("circle", "MAX-GSW-NN 1", "log10_w2") == -2.65
    assert load("ablation_lambda").published_value("knot", "Linear", "log10_w2") == -3.95
    assert load("ablation_lambda").published_value("knot", "ASWD lambda=0.5", "log10_w2") is None
    assert len(full.data) * len(full.series) == sum(len(row) for row in full.published.values()) == 96


def test_mistakes_are_sentences(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="there is no artifact 'flow_man': did you mean flow_main"):
        load("flow_man")
    with pytest.raises(UserError, match="--scale must be one of smoke, laptop, paper for flow_main; got 'huge'"):
        load("flow_main").scale("huge")
    monkeypatch.setattr(declaration, "_folder", lambda: tmp_path)
    for text, sentence in (
        ("# a\nseries: []\nscales: {}\ndata: []\nclaims: []\ntitel: x\n", "titel is not part of an artifact: did you mean title"),
        ("# a\nseries: [{labl: x}]\nscales: {}\ndata: []\nclaims: []\n", "is no series"),
        ("# a\nseries: []\nscales: {}\ndata: []\nclaims: []\n", "is not complete"),
    ):
        (tmp_path / "mine.yaml").write_text(text)
        with pytest.raises(UserError, match=sentence):
            load("mine")


def test_scales_and_readings_never_share_a_folder_unless_the_numbers_are_the_same():
    artifact = load("flow_main")
    keys = {}
    for scale in SCALES:
        for reading in ("reference", "paper"):
            for cell in cells(artifact, scale, reading, "outputs"):
                keys.setdefault((cell.data, cell.label), {})[scale, reading] = cell.spec.key
    assert len(set(keys["knot", "ASWD"].values())) == 6
    assert len(set(keys["knot", "Linear"].values())) == 3
