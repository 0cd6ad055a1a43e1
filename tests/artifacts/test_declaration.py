"""Artifacts as their files declare them."""

import pytest

from aswd.artifacts import declaration
from aswd.artifacts.claims import CLAIMS
from aswd.artifacts.declaration import SCALES, artifact_names, load, order_key
from aswd.artifacts.drawing import drawing_names, load_drawing
from aswd.artifacts.papers import Paper
from aswd.artifacts.reproduction import Reproduction
from aswd.utils.errors import UserError

MINIMAL = "draw: curves\ntask: flow\nmetric: w2\ndata: [knot]\nseries: [{label: A, distance: swd}]\nscales: {tiny: {seeds: 1}}\n"


def declare(folder, text=MINIMAL, name="mine"):
    (folder / "artifact").mkdir(exist_ok=True)
    (folder / "artifact" / f"{name}.yaml").write_text(text)
    return [str(folder)]


@pytest.mark.slow
@pytest.mark.parametrize("name", artifact_names())
def test_every_artifact_of_ours_is_complete(name):
    artifact = load(name)
    assert tuple(artifact.scales) == (*SCALES, "demo")[: 4 if name == "flow_main" else 3]
    assert artifact.about
    assert artifact.draw in drawing_names() or load_drawing(artifact.draw, "").reproduce
    if load_drawing(artifact.draw, "").measure is None:
        assert set(artifact.claims) <= set(CLAIMS)
    for scale, declared in artifact.scales.items():
        Reproduction(artifact, scale, "reference").check()
        assert isinstance(declared.judges, bool) or set(declared.judges) <= set(artifact.claims)


def test_ours_come_in_the_order_of_the_paper():
    names = artifact_names()
    assert names[:2] == ["projections", "flow_main"]
    assert names.pop() == "leaderboard"  # of no paper
    assert names[-9:-5] == ["barycenter", "table1", "readings", "ablation_penalty"]  # studies of our own come last
    assert names[-5:] == ["ebsw_flow", "swgg_flow", "swgg_moons", "qsw_interpolation", "tsw_flow"]  # later papers, in the order of years
    assert names.index("mnist_cost") + 1 == names.index("cost_scaling")  # 14a and 14b


@pytest.mark.parametrize("number", ["", "Figure 2", "Figure", "Abb. 3", "7", "Figure IX", "Table 0x1"])
def test_others_come_after_ours_whatever_their_number(number, tmp_path):
    folders = declare(tmp_path, f"number: {number!r}\n{MINIMAL}", "a")
    declare(tmp_path, MINIMAL, "zero")
    names = artifact_names(folders)
    assert names[:-2] == artifact_names()
    assert names[-2:] == ["a", "zero"]
    assert load("a", folders).caption == (number or "a")


def test_order_key_sorts_anything():
    numbers = ["Figure 10", "Figure 9", "Table 1", "Study 1", "", "?", "Figure 9b", "Figure 9a"]
    ordered = sorted(numbers, key=lambda number: order_key("flow_main", number, Paper("A")))
    assert ordered[:6] == ["Figure 9", "Figure 9a", "Figure 9b", "Figure 10", "Table 1", "Study 1"]


def test_an_artifact_of_the_user_needs_no_claims_no_number_and_no_published_values(tmp_path):
    artifact = load("mine", declare(tmp_path, f"# What it shows.\n{MINIMAL}"))
    assert (artifact.about, artifact.claims, artifact.published, artifact.number) == ("What it shows.", (), {}, "")
    assert artifact.scale("tiny").num_projections is None
    assert artifact.file == tmp_path / "artifact" / "mine.yaml"


def test_an_artifact_of_the_user_may_inherit_from_ours_and_from_its_own(tmp_path):
    folders = declare(tmp_path, "like: flow_full\ntitle: Two\ndata: [knot]\nscales: {tiny: {seeds: 1}}\nclaims: []\n", "two")
    declare(tmp_path, "like: two\nnumber: 3\n", "three")
    two, three, ours = load("two", folders), load("three", folders), load("flow_full")
    assert (two.series, two.draw, two.data, two.claims) == (ours.series, "flow", ("knot",), ())
    assert list(two.scales) == [*SCALES, "tiny"]
    assert (three.caption, three.data) == ("3: Two", ("knot",))


def test_plugin_packages_bring_artifacts(tmp_path, monkeypatch):
    declare(tmp_path)
    monkeypatch.setattr(declaration, "plugin_config_dirs", lambda: [tmp_path])
    assert load("mine").file == tmp_path / "artifact" / "mine.yaml"
    assert artifact_names()[-1] == "mine"


def test_published_values_of_the_full_flow():
    full = load("flow_full")
    assert full.published_value("swiss_roll", "ASWD", "log10_w2") == -4.75
    assert full.published_value("gaussians_25", "GSW-NN 1", "log10_w2") == -3.8
    assert full.published_value("circle", "MAX-GSW-NN 1", "log10_w2") == -2.65
    assert load("ablation_lambda").published_value("knot", "Linear", "log10_w2") == -3.95
    assert load("ablation_lambda").published_value("knot", "ASWD lambda=0.5", "log10_w2") is None
    assert len(full.data) * len(full.series) == sum(len(row) for row in full.published.values()) == 96


def test_names_that_are_unknown_or_taken_are_sentences(tmp_path):
    with pytest.raises(UserError, match="there is no artifact 'flow_man': did you mean flow_main"):
        load("flow_man")
    with pytest.raises(UserError, match="--scale must be one of smoke, laptop, paper, demo for flow_main; got 'huge'"):
        load("flow_main").scale("huge")
    (tmp_path / "taken").mkdir()
    with pytest.raises(UserError, match=r"flow_main\.yaml must have another name: flow_main is the artifact in"):
        load("flow_main", declare(tmp_path / "taken", name="flow_main"))
    with pytest.raises(UserError, match=r"all\.yaml must have another name"):
        artifact_names(declare(tmp_path, name="all"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"titel: x\n{MINIMAL}", "mine.yaml: titel is not an option of an artifact: did you mean title"),
        (MINIMAL.replace("label", "labl"), r"mine.yaml: series\[0\].labl is not an option: did you mean label"),
        (MINIMAL.replace("label: A, ", ""), r"mine.yaml: series\[0\].label must be given a value"),
        (MINIMAL.replace("distance: swd", "distance: swd, overrides: distance.order=1"), r"series\[0\].overrides must be a list of texts"),
        (MINIMAL.replace("[{label: A, distance: swd}]", "[swd]"), r"mine.yaml: series\[0\] must be a group of options \(label, distance"),
        (MINIMAL.replace("[{label: A, distance: swd}]", "[{label: A, distance: swd}, {label: A, distance: aswd}]"), "different labels"),
        (MINIMAL.replace("seeds: 1", "seeds: 0"), "mine.yaml: scales.tiny.seeds must be a whole number of at least 1; got 0"),
        (MINIMAL.replace("seeds: 1", "seeds: 1, data: knot"), "mine.yaml: scales.tiny.data must be a list of texts; got 'knot'"),
        (MINIMAL.replace("[knot]", "knot"), "mine.yaml: data must be a list of texts; got 'knot'"),
        (MINIMAL.replace("[knot]", "[]"), "mine.yaml: data must be given a value"),
        (f"claims: F1\n{MINIMAL}", "mine.yaml: claims must be a list of texts; got 'F1'"),
        (f"title: [a]\n{MINIMAL}", "mine.yaml: title must be a text"),
        ("", "mine.yaml: draw must be given a value"),
        ("- a\n", "mine.yaml must consist of options"),
        ("a: [", "mine.yaml cannot be read: "),
        ("like: flow_fall\n", "mine.yaml: like must be the name of an artifact; got 'flow_fall': did you mean flow_full"),
        ("like: mine\n", "mine.yaml: like must not lead back to the artifact itself"),
    ],
)
def test_mistakes_in_a_file_are_sentences_that_name_it(text, sentence, tmp_path):
    with pytest.raises(UserError, match=sentence) as caught:
        load("mine", declare(tmp_path, text))
    assert "\n" not in str(caught.value)
