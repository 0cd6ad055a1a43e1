"""Folders of images, and CelebA, which is one."""

import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from aswd.config.composition import CommandLine, plan_runs
from aswd.data import celeba
from aswd.data.celeba import CelebA
from aswd.data.image_configs import CelebAConfig, ImageFolderConfig
from aswd.data.image_files import find_images, read_image
from aswd.data.image_folder import ImageFolder
from aswd.utils.errors import UserError
from tests.data.small import write_celeba, write_image


def folder(root, **options):
    return ImageFolder(root=str(root), cache_dir=f"{root}-cache", **options)


def faces(root, **options):
    return CelebA(root=str(root), cache_dir=f"{root}-cache", **options)


def test_flat_folder_of_several_formats(tmp_path):
    for number in range(23):
        write_image(tmp_path / "p" / f"{number:02d}.{('jpg', 'png', 'JPEG')[number % 3]}", seed=number)
    (tmp_path / "p/notes.txt").write_text("not an image")
    (tmp_path / "p/.hidden.jpg").write_text("not an image")
    data = folder(tmp_path / "p", size=16)
    data.prepare_data()
    assert data.images("train").shape == (21, 3, 16, 16)
    assert data.images("test").shape == (2, 3, 16, 16)
    assert data.images("train").dtype == torch.uint8
    assert data.labels("train") is None


def test_resized_and_cropped_in_the_middle(tmp_path):
    for number in range(2):
        path = write_image(tmp_path / "p" / f"{number}.png", (100, 50), seed=number)
    pixels = folder(tmp_path / "p", size=26).images("test")[0].numpy()
    with Image.open(path) as file:
        wanted = np.asarray(file.resize((52, 26), Image.Resampling.BILINEAR)).transpose(2, 0, 1)[:, :, 13:39]
    assert (pixels[:, :, 2:-2] == wanted[:, :, 2:-2]).all()  # at the cut the outermost columns average over fewer pixels


def test_folders_are_classes_and_splits(tmp_path):
    for split, count in (("train", 3), ("test", 2)):
        for name in ("cat", "dog"):
            for number in range(count):
                write_image(tmp_path / "p" / split / name / "deeper" / f"{number}.png")
    data = folder(tmp_path / "p")
    assert data.labels("train").tolist() == [0, 0, 0, 1, 1, 1]
    assert data.labels("test").tolist() == [0, 0, 1, 1]
    assert len(data.images("train")) == 6
    for path in (tmp_path / "p/test").rglob("*.png"):
        path.unlink()
    with pytest.raises(UserError, match=r"images to train on and others to test on; .*p/test is empty"):
        folder(tmp_path / "p").prepare_data()


def test_orientation_of_cameras_is_heeded(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    path = write_image(tmp_path / "a.jpg", (40, 20), exif=exif)
    assert read_image(path, 3, lambda image: image).shape == (3, 40, 20)


def test_grey_is_refused_or_asked_for(tmp_path):
    write_image(tmp_path / "p/a.png")
    write_image(tmp_path / "p/b.png", mode="L")
    with pytest.raises(UserError, match=r"b\.png is grey where colour is expected: .*data.channels=1"):
        folder(tmp_path / "p").prepare_data()
    data = folder(tmp_path / "p", channels=1)
    data.prepare_data()
    assert data.images("train").shape == (1, 1, 64, 64)


def test_palettes_and_transparency_become_colour(tmp_path):
    for mode in ("P", "RGBA"):
        path = write_image(tmp_path / f"{mode}.png", mode=mode)
        assert read_image(path, 3, lambda image: image).shape == (3, 60, 80)


@pytest.mark.parametrize("damage", [lambda content: content[: len(content) // 2], lambda _: b"no image", lambda _: b""])
def test_an_unreadable_picture_is_named(tmp_path, damage):
    for number in range(3):
        path = write_image(tmp_path / "p" / f"{number}.jpg", (300, 300))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match=r"2\.jpg cannot be read as an image"):
        folder(tmp_path / "p").prepare_data()
    assert [path.name[:8] for path in (tmp_path / "p-cache").iterdir()] == ["p-train-"]  # nothing half done is left


def test_wrong_folders(tmp_path):
    with pytest.raises(UserError, match=r"data.root must be the folder of the images, as in data.root=DIR; got '', which is no folder"):
        ImageFolder().prepare_data()
    with pytest.raises(UserError, match=r"got '.*nowhere', which is no folder"):
        folder(tmp_path / "nowhere").prepare_data()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"must be a folder with images \(bmp, .*\); .*empty has none"):
        folder(tmp_path / "empty").prepare_data()
    write_image(tmp_path / "one/a.png")
    with pytest.raises(UserError, match=r"images to train on and others to test on; .*one has 1$"):
        folder(tmp_path / "one").prepare_data()


def test_the_fingerprint_is_of_the_pictures_not_of_the_place(tmp_path):
    for place in ("p", "q"):
        for number in range(3):
            write_image(tmp_path / place / f"{number}.png", seed=number)
    first, second = (ImageFolderConfig(root=str(tmp_path / place)).fingerprint for place in ("p", "q"))
    assert first == second != ""
    write_image(tmp_path / "q/9.png")
    assert ImageFolderConfig(root=str(tmp_path / "q")).fingerprint != first
    with pytest.raises(ValueError, match="fingerprint must be left to the images"):
        ImageFolderConfig(root=str(tmp_path / "q"), fingerprint=first)


def test_the_cache_is_used_and_made_again(tmp_path):
    for number in range(4):
        write_image(tmp_path / "p" / f"{number}.png", seed=number)
    data = folder(tmp_path / "p")
    first = data.images("train").clone()
    (cache,) = (tmp_path / "p-cache").iterdir()
    np.save(cache, 7 * np.ones_like(first.numpy()))
    assert (data.images("train") == 7).all()
    cache.write_bytes(cache.read_bytes()[:1000])  # cut off
    assert torch.equal(data.images("train"), first)
    write_image(tmp_path / "p/0.png", seed=99)  # another image of that name
    assert not torch.equal(folder(tmp_path / "p").images("train")[0], first[0])


def test_celeba_by_its_list(tmp_path):
    write_celeba(tmp_path / "data/celeba/img_align_celeba", range(1, 7))
    listed = tmp_path / "data/celeba" / celeba.PARTITION
    listed.write_text("000001.jpg 0\n000002.jpg 2\n000003.jpg 1\n000004.jpg 0\n000005.jpg 2\n")
    data = faces(tmp_path / "data")
    data.prepare_data()
    assert [path.stem for path in data._splits["train"]] == ["000001", "000004"]
    assert [path.stem for path in data._splits["test"]] == ["000002", "000005"]
    with Image.open(tmp_path / "data/celeba/img_align_celeba/000004.jpg") as file:
        wanted = np.asarray(file.crop((19, 39, 159, 179)).resize((64, 64), Image.Resampling.BILINEAR)).transpose(2, 0, 1)
    assert (data.images("train")[1].numpy() == wanted).all()

    listed.write_text(listed.read_text() + "000007.jpg 0\n")
    with pytest.raises(UserError, match=r"is not whole: 000007\.jpg, line 6 of list_eval_partition\.txt, is not there"):
        faces(tmp_path / "data").prepare_data()
    listed.write_text("000001.jpg 5\n")
    with pytest.raises(UserError, match=r"line 1 must be the name of an image and 0, 1 or 2; it is '000001.jpg 5'"):
        faces(tmp_path / "data").prepare_data()


@pytest.mark.parametrize("place", ["", "celeba", "img_align_celeba"])
def test_celeba_from_a_plain_folder_by_number(tmp_path, place):
    write_celeba(tmp_path / "data" / place, [1, 162770, 162771, 182637, 182638, 202599])
    data = faces(tmp_path / "data", size=8, crop=178)
    assert [path.stem for path in data._splits["train"]] == ["000001", "162770"]
    assert [path.stem for path in data._splits["test"]] == ["182638", "202599"]
    assert data.images("train").shape == (2, 3, 8, 8)
    assert data.config.fingerprint != ""  # a part of the set is not the set


def test_celeba_that_is_not_there_or_not_it(tmp_path):
    with pytest.raises(UserError, match=r"celeba is not in .*: put the images of img_align_celeba.zip into .*celeba/img_align_celeba"):
        faces(tmp_path).prepare_data()
    for number in (1, 2, 200000, 200001):
        write_image(tmp_path / f"celeba/{number:06d}.jpg", (100, 100))
    with pytest.raises(UserError, match=r"000001\.jpg cannot be read as an image \(it is 100 x 100, smaller than data.crop=140\)"):
        faces(tmp_path).prepare_data()
    (tmp_path / "celeba/000002.jpg").unlink()
    with pytest.raises(UserError, match="must have at least two images of the train split of celeba; it has 1"):
        faces(tmp_path).prepare_data()
    with pytest.raises(ValueError, match="crop must be a whole number of at least 4 and at most 178; got 200"):
        CelebAConfig(crop=200)


def test_a_folder_counts_once_and_a_link_to_nothing_is_named(tmp_path):
    for number in range(5):
        write_image(tmp_path / f"p/a/{number}.png", (8, 8), seed=number)
    (tmp_path / "p/a/loop").symlink_to(tmp_path / "p")
    (tmp_path / "p/b").symlink_to(tmp_path / "p/a")
    assert [path.name for path in find_images(tmp_path / "p")] == [f"{number}.png" for number in range(5)]
    (tmp_path / "p/a/gone.png").symlink_to(tmp_path / "nowhere.png")
    with pytest.raises(
        ValueError, match=r"root must have images that can all be read; .*p/a/gone.png is a link to a file that is not there"
    ):
        folder(tmp_path / "p")
    with pytest.raises(UserError, match=r"data.root must have images that can all be read; .*gone.png is a link"):
        plan_runs(CommandLine(["task=generator", "data=image_folder", f"data.root={tmp_path / 'p'}"]))


@pytest.mark.parametrize("has_splits", [False, True])
def test_copies_of_test_images_are_not_trained_on(has_splits, tmp_path, capsys):
    top = [tmp_path / "p/train", tmp_path / "p/test"] if has_splits else [tmp_path / "p", tmp_path / "p"]
    for number in range(9):
        write_image(top[0] / f"{number}.png", (8, 8), seed=number)
    write_image(top[1] / "9.png", (8, 8), seed=99)
    shutil.copy(top[1] / "9.png", top[0] / "4.png")
    data = folder(tmp_path / "p")
    data.prepare_data()
    assert (len(data.images("train")), len(data.images("test"))) == (8, 1)
    assert "1 images of" in (error := capsys.readouterr().err)
    assert "4.png" in error
    train = {bytes(image.numpy()) for image in data.images("train")}
    assert not train & {bytes(image.numpy()) for image in data.images("test")}


def test_a_batch_larger_than_the_folder_is_refused_before_the_run(tmp_path):
    for number in range(10):
        write_image(tmp_path / f"p/{number}.png", (8, 8), seed=number)
    with pytest.raises(UserError, match=r"task.batch_size must be at most the number of training images, 9; got 10"):
        plan_runs(CommandLine(["task=generator", "data=image_folder", f"data.root={tmp_path / 'p'}", "task.batch_size=10"]))
