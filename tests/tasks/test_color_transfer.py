"""Colour transfer, from images to images."""

from pathlib import Path

import numpy as np
import ot
import pytest
import torch
from PIL import Image

from aswd.cli.main import main
from aswd.config.composition import CommandLine, plan_runs
from aswd.data.palettes import cluster
from aswd.data.photograph_files import read_photograph
from aswd.runs.execution import execute_run
from aswd.tasks.color_figures import gradient_similarity, new_colours, sharpness_and_contrast, small
from aswd.utils.errors import UserError
from tests.runs.test_execution import cut_off, metrics_of

SMALL = ["task=color_transfer", "data.num_colors=40", "trainer.accelerator=cpu", "trainer.threads=1", "trainer.enable_progress_bar=false"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two small images with hundreds of colours, the first with alpha."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    down, across = np.mgrid[0:24, 0:32] / 32
    ramps = np.stack([down, across, 1 - down], 2) + 0.03 * rng.standard_normal((24, 32, 3))
    warm = np.stack([0.5 + 0.5 * across, 0.4 * down, 0.2 * across], 2) + 0.03 * rng.standard_normal((24, 32, 3))
    alpha = np.where(down < 0.1, 0, 200).astype(np.uint8)
    levels = [(255 * np.clip(values, 0, 1)).round().astype(np.uint8) for values in (ramps, warm)]
    Image.fromarray(np.dstack([levels[0], alpha])).save(folder / "source.png")
    Image.fromarray(levels[1]).save(folder / "target.png")
    return [f"data.source={folder / 'source.png'}", f"data.target={folder / 'target.png'}"]


def spec_of(folder, pair, *overrides, distance="swd"):
    few = [] if distance in ("max_swd", "wasserstein") else ["distance.num_projections=12"]
    call = CommandLine([*SMALL, *pair, f"distance={distance}", *few, f"paths.output_dir={folder}", *overrides])
    return plan_runs(call)[0]


def run(spec):
    (outcome,) = execute_run(spec)
    assert outcome.status == "done", outcome.text
    return outcome.run, np.load(outcome.run.folder / "samples.npz")


DISTANCES = ["swd", "gswd_poly3", "gswd_circular", "gswd_nn1", "max_swd", "max_gswd_nn1", "dswd", "aswd", "wasserstein"]


@pytest.mark.parametrize("distance", DISTANCES)
def test_every_distance_repaints_the_image_by_its_alignment(tmp_path, pair, distance):
    done, samples = run(spec_of(tmp_path, pair, "task.iterations=3", distance=distance))
    source = np.asarray(Image.open(pair[0].removeprefix("data.source=")))
    result = np.asarray(Image.open(done.folder / "images" / "result.png"))
    np.testing.assert_array_equal(result[:, :, 3], source[:, :, 3])
    colours = np.unique(result[:, :, :3].reshape(-1, 3), axis=0)
    painted = np.unique((255 * np.clip(samples["palette"].astype(float), 0, 1)).round().astype(np.uint8), axis=0)
    assert {tuple(c) for c in colours} <= {tuple(c) for c in painted}
    final = done.result["final"]
    cost = ot.dist(samples["palette"].astype(float), samples["target"].astype(float))
    weights = (samples[f"{side}_weights"].astype(float) / samples[f"{side}_weights"].astype(float).sum() for side in ("source", "target"))
    assert final["w2"] == pytest.approx(np.sqrt(ot.emd2(*weights, cost)), rel=1e-4)
    assert final["w2_of_centres"] == pytest.approx(np.sqrt(ot.emd2([], [], cost)), rel=1e-4, abs=1e-6)
    assert -1 <= final["gradient_similarity"] <= 1
    assert {"sharpness", "contrast"} <= set(final)
    assert ("learned_norm" in final) == (distance not in ("swd", "gswd_poly3", "gswd_circular", "wasserstein"))
    assert done.result["steps"] == (3 if distance in ("max_swd", "max_gswd_nn1", "dswd", "aswd") else 1)
    assert Image.open(done.folder / "images" / "side_by_side.png").height > 360
    np.testing.assert_array_equal(samples["image"], result)  # narrow enough to be kept as it is


def test_the_palette_is_the_average_of_what_is_matched_along_the_directions(tmp_path, pair):
    _, samples = run(spec_of(tmp_path, pair, "seed=5"))
    x, y = samples["source"], samples["target"]
    theta = torch.nn.functional.normalize(torch.randn(12, 3, generator=torch.Generator().manual_seed(5)), dim=-1).numpy()
    expected = np.zeros_like(x)
    for direction in theta:
        expected[np.argsort(x @ direction)] += y[np.argsort(y @ direction)] / len(theta)
    np.testing.assert_allclose(samples["palette"], expected, atol=1e-6)


def test_exact_transport_ends_at_the_target_and_its_weights_count(tmp_path, pair):
    _, plain = run(spec_of(tmp_path, pair, distance="wasserstein"))
    np.testing.assert_allclose(np.sort(plain["palette"], 0), np.sort(plain["target"], 0))
    done, _ = run(spec_of(tmp_path, pair, "task.weighted=true", distance="wasserstein"))
    assert done.result["final"]["w2"] < 0.1


def test_a_photograph_keeps_its_own_colours(tmp_path, pair):
    name = pair[1].removeprefix("data.target=")
    for distance in ("swd", "aswd"):
        own = [f"data.source={name}", f"data.target={name}"]
        done, samples = run(spec_of(tmp_path, own, "task.keep_detail=true", "task.iterations=2", distance=distance))
        np.testing.assert_allclose(samples["palette"], samples["source"], atol=1e-6)
        np.testing.assert_array_equal(np.asarray(Image.open(done.folder / "images" / "result.png")), np.asarray(Image.open(name)))
        assert done.result["final"]["gradient_similarity"] == pytest.approx(1)


@pytest.mark.parametrize("distance", ["swd", "wasserstein"])
def test_a_flow_comes_closer_to_the_target_than_the_alignment(tmp_path, pair, distance):
    aligned, _ = run(spec_of(tmp_path, pair, "task.weighted=true", distance="swd"))
    done, _ = run(spec_of(tmp_path, pair, "task.method=flow", "task.weighted=true", distance=distance))
    assert (aligned.result["steps"], done.result["steps"]) == (1, 100)
    assert done.result["final"]["w2"] < 0.5 * aligned.result["final"]["w2"]


@pytest.mark.parametrize(("distance", "method"), [("aswd", "alignment"), ("max_swd", "alignment"), ("dswd", "flow")])
def test_a_run_that_was_cut_off_goes_on_to_the_same_bits(tmp_path, pair, monkeypatch, distance, method):
    options = ["task.iterations=9", "task.evaluate_every=2", f"task.method={method}"]
    expected, wanted = run(spec_of(tmp_path / "whole", pair, *options, distance=distance))
    spec = spec_of(tmp_path / "parts", pair, *options, distance=distance)
    for steps in (3, 6):
        (outcome,) = cut_off(spec, monkeypatch, steps)
        assert outcome.status == "interrupted"
    done, samples = run(spec)
    np.testing.assert_array_equal(metrics_of(done), metrics_of(expected))
    for name in wanted:
        np.testing.assert_array_equal(samples[name], wanted[name])


def test_the_key_is_that_of_what_the_images_show(tmp_path, pair):
    for one, name in zip(pair, ("a.png", "b.png"), strict=True):
        (tmp_path / name).write_bytes(Path(one.split("=")[1]).read_bytes())
    here, moved = spec_of(tmp_path, pair), spec_of(tmp_path, [f"data.source={tmp_path}/a.png", f"data.target={tmp_path}/b.png"])
    turned = spec_of(tmp_path, [f"data.source={tmp_path}/b.png", f"data.target={tmp_path}/a.png"])
    assert here.key == moved.key != turned.key
    assert len({here.key, spec_of(tmp_path, pair, "data.num_colors=41").key, spec_of(tmp_path, pair, "task.keep_detail=true").key}) == 3
    assert spec_of(tmp_path, pair, "task.images=false").key == here.key


def test_the_task_brings_its_data_and_source_is_an_option_of_the_data(capsys):
    (spec,) = plan_runs(CommandLine(["task=color_transfer"]))
    assert (spec.data.name, spec.data.source, spec.data.target, spec.data.num_colors) == ("photographs", "china", "flower", 3000)
    (spec,) = plan_runs(CommandLine(["task=color_transfer", "data=rocket_chelsea"]))
    assert (spec.data.name, spec.data.source, spec.data.target) == ("rocket_chelsea", "rocket", "chelsea")
    assert plan_runs(CommandLine([]))[0].data.name == "swiss_roll"
    assert main(["train", "source=china"]) == 2
    assert "source is now called data.source" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["data.source=no.png"], "data.source must be a file, or a built-in image; got 'no.png', which is neither"),
        (["data.target=chin"], "did you mean china?"),
        (["data.target={text}"], "data.target must be an image; got"),
        (["data.source={small}"], "has only 4: set data.num_colors=4 or less"),
        (["data.source=null"], "data.source must be a text"),
        (["data.num_colors=1"], "data.num_colors must be a whole number of at least 2; got 1"),
        (["data=moons"], "for task=color_transfer; got 'moons'"),
        (["task.method=magic"], "task.method must be one of 'alignment', 'flow'; got 'magic'"),
        (["task.iterations=0"], "task.iterations must be a whole number of at least 1 and at most 1000000000; got 0"),
        (["task.keep_detail=maybe"], "task.keep_detail must be true or false; got 'maybe'"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, overrides, sentence):
    (tmp_path / "text.png").write_text("words")
    Image.fromarray(np.arange(12, dtype=np.uint8).reshape(2, 2, 3)).save(tmp_path / "small.png")
    given = [one.format(text=tmp_path / "text.png", small=tmp_path / "small.png") for one in overrides]
    with pytest.raises(UserError) as caught:
        plan_runs(CommandLine(["task=color_transfer", *given]))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_details_are_offsets_from_the_centres():
    rng = np.random.default_rng(1)
    colours = rng.random((200, 3))
    palette = cluster(colours, np.ones(200, dtype=int), 10, seed=0)
    centres = 0.4 + 0.2 * rng.random((10, 3))
    flat = new_colours(colours, palette, centres, keep_detail=False)
    np.testing.assert_array_equal(flat, centres[palette.labels])
    fine = new_colours(colours, palette, centres, keep_detail=True)
    inside = (fine > 0).all(1) & (fine < 1).all(1)
    np.testing.assert_allclose((fine - flat)[inside], (colours - palette.centres[palette.labels])[inside])
    np.testing.assert_allclose(new_colours(colours, palette, palette.centres, keep_detail=True), colours)


def test_the_similarity_of_gradients():
    image = read_photograph("chelsea")
    assert gradient_similarity(image, image.colours) == pytest.approx(1)
    assert gradient_similarity(image, 0.2 + 0.3 * image.colours) == pytest.approx(1)
    assert gradient_similarity(image, np.full_like(image.colours, 0.5)) == 0
    shuffled = np.random.default_rng(0).permutation(image.colours)
    assert abs(gradient_similarity(image, shuffled)) < 0.3
    levels = image.pixels @ [0.299, 0.587, 0.114] / 255
    inverted = image.repainted(image.colours**3).pixels / 255 @ [0.299, 0.587, 0.114]
    lengths = [np.hypot(np.diff(plane, axis=1)[:-1], np.diff(plane, axis=0)[:, :-1]).ravel() for plane in (levels, inverted)]
    assert gradient_similarity(image, image.colours**3) == pytest.approx(np.corrcoef(*lengths)[0, 1], abs=0.01)


def test_sharpness_and_contrast():
    image = read_photograph("chelsea")
    plane = image.pixels @ [0.299, 0.587, 0.114] / 255
    sharpness, contrast = sharpness_and_contrast(image, image.colours)
    lengths = np.hypot(np.diff(plane, axis=1)[:-1], np.diff(plane, axis=0)[:, :-1])
    assert sharpness == pytest.approx(lengths.mean(), rel=0.01)
    assert contrast == pytest.approx(plane.std(), rel=1e-3)
    assert sharpness_and_contrast(image, 0.2 + 0.3 * image.colours) == pytest.approx((0.3 * sharpness, 0.3 * contrast), rel=1e-4)
    assert sharpness_and_contrast(image, np.full_like(image.colours, 0.5)) == pytest.approx((0, 0), abs=1e-6)


def test_small_images_are_at_most_256_wide(tmp_path):
    assert small(read_photograph("china")).size == (256, 171)
    Image.new("RGB", (3000, 2)).save(tmp_path / "wide.png")
    assert small(read_photograph(str(tmp_path / "wide.png"))).size == (256, 1)
