"""Recommending gives each user the items whose pairs score best."""

import numpy as np
import pytest

import lazydp
import served_models

ITEMS = [
    {"ad": f"{i:x}", "tags": [f"t{i % 7}", f"t{i % 3}"][: i % 3], "time": i / 8} for i in range(60)
]
USERS = [{"age": 20 + i, "balance": i / 4, "user": i} for i in range(5)]


@pytest.fixture(scope="module", params=["dot", "linear+cat+dot"])
def model(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recommend")
    tall = ["--top", "16-8-1"] if request.param == "dot" else []
    run = served_models.train(folder, "--interaction", request.param, *tall)
    return lazydp.load(run)


def split_otherwise(names):
    """Return users and items of which these columns are the items'."""
    pairs = [{**USERS[i % 5], **ITEMS[i]} for i in range(60)]
    theirs = [{k: v for k, v in p.items() if k not in names} for p in pairs[:5]]
    of_items = [{k: v for k, v in p.items() if k in names} for p in pairs]
    return theirs, of_items


DIVISIONS = [
    (USERS, ITEMS),
    split_otherwise(["user", "tags"]),
    split_otherwise(["age", "balance", "ad"]),
    split_otherwise(["balance", "ad"]),  # dense features from both sides
]


@pytest.mark.parametrize("users, items", DIVISIONS)
def test_items_are_those_whose_pairs_score_best(model, users, items):
    places, scores = model.recommend(users, items, top=7)
    for user, row, of_row in zip(users, places, scores, strict=True):
        all_scores = model.score([{**user, **item} for item in items])
        best = np.sort(all_scores)[::-1][:7]
        np.testing.assert_allclose(of_row, best, rtol=0, atol=1e-6)
        np.testing.assert_allclose(all_scores[row], best, rtol=0, atol=1e-6)
        assert len(set(row)) == 7


def test_seen_items_are_left_out(model):
    all_places, all_scores = model.recommend(USERS, ITEMS, top=60)
    seen = [set(row[::2]) for row in all_places[:4]] + [range(60)]
    places, scores = model.recommend(USERS, ITEMS, top=40, seen=seen)
    for user in range(4):
        np.testing.assert_array_equal(places[user, :30], all_places[user, 1::2])
        np.testing.assert_array_equal(scores[user, :30], all_scores[user, 1::2])
    assert (places[:, 30:] == -1).all() and np.isnan(scores[:, 30:]).all()
    assert (places[4] == -1).all()


def test_what_does_not_divide_the_columns_is_refused(model):
    with pytest.raises(lazydp.UserError, match="the column 'time'.* is in both"):
        model.recommend([USERS[0] | {"time": 1}], ITEMS)
    with pytest.raises(lazydp.UserError, match="the column 'age'.* is in neither"):
        model.recommend([{"user": 1, "balance": 1}], ITEMS)
    with pytest.raises(lazydp.UserError, match="top is 0"):
        model.recommend(USERS, ITEMS, top=0)
    with pytest.raises(lazydp.UserError, match="one for each user"):
        model.recommend(USERS, ITEMS, seen=[[1]])


def test_the_program_recommends_the_same(model, tmp_path):
    """Its scorer is another one; both read the same texts."""
    names = ["age", "balance", "user"]
    lines = [["id", *names]] + [[f"n{i}", *map(str, u.values())] for i, u in enumerate(USERS)]
    (tmp_path / "users.csv").write_text("\n".join(",".join(line) for line in lines) + "\n")
    lines = ["item,ad,tags,time"]
    lines += [f"{i},{e['ad']},{'|'.join(e['tags'])},{e['time']}" for i, e in enumerate(ITEMS)]
    (tmp_path / "items.csv").write_text("\n".join(lines) + "\n")
    texts = ["--for", tmp_path / "users.csv", "--items", tmp_path / "items.csv", "--top", 3]
    said = served_models.run("recommend", model.folder, "--quiet", *texts).splitlines()[1:]
    places, scores = model.recommend(USERS, ITEMS, top=3)
    assert [int(line.split(",")[1]) for line in said] == places.ravel().tolist()
    found = [float(line.split(",")[2]) for line in said]
    np.testing.assert_allclose(found, scores.ravel(), rtol=0, atol=1e-6)
