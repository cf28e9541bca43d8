"""The generated click log: its truth is true, its ids and history give nothing away, its bytes depend on the seed
alone, and what is wrong with it is said in a sentence."""

import hashlib
import importlib
import json
from dataclasses import replace

import numpy as np
import pytest

from gpukit import plugins

plugins.load("ctr")
world = importlib.import_module("gpukit_labs.ctr.world")
drawing, generating, history, options, zipf = (
    importlib.import_module(f"gpukit_labs.ctr.world.{name}")
    for name in ("world", "generating", "history", "options", "zipf")
)
log = importlib.import_module("gpukit_labs.ctr.storage.log")
cold_ids, schema = (importlib.import_module(f"gpukit_labs.ctr.{name}") for name in ("cold", "schema"))
CtrError = importlib.import_module("gpukit_labs.ctr.errors").CtrError
Options, World, generate = world.Options, world.World, world.generate

SMALL = Options(
    rows=60_000, members=300, ads=60, campaigns=12, devices=6, countries=8, slots=15, factors=3, shard_rows=8_000
)
FILES = ("manifest.json", "ids.i32", "dense.f32", "label.u1", "time.i8", "truth/p.f64")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A log of 60,000 rows and its truth."""
    made = generate(tmp_path_factory.mktemp("world") / "log", SMALL)
    return made, np.array(world.open_truth(made))


def digests(folder):
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}


def whole(options):
    """All of a log in one shard, history not filled in."""
    return World(replace(options, shard_rows=options.rows)).draw(0)


def auc(positive, score):
    """Mann-Whitney with weights: of labels, or of true probabilities."""
    order = np.argsort(score, kind="stable")
    positive, score = np.asarray(positive, float)[order], np.asarray(score)[order]
    starts = np.flatnonzero(np.concatenate(([True], score[1:] != score[:-1])))
    up, down = np.add.reduceat(positive, starts), np.add.reduceat(1 - positive, starts)
    return float(np.sum(up * (np.cumsum(down) - down / 2)) / (up.sum() * down.sum()))


def chi_square(count, expected):
    """In standard deviations from what chance gives."""
    freedom = len(expected) - 1
    return (np.sum((count - expected) ** 2 / expected) - freedom) / (2 * freedom) ** 0.5


def distance(p, labels):
    """How far labels are from their probabilities over deciles, in the same unit."""
    groups = np.array_split(np.argsort(p), 10)
    squares = [(labels[group].sum() - p[group].sum()) ** 2 / np.sum(p[group] * (1 - p[group])) for group in groups]
    return (sum(squares) - 10) / 20**0.5


# --- the same bytes --------------------------------------------------------------------------------------------------


def test_any_number_of_workers_writes_the_same_bytes(tmp_path, made):
    again = generate(tmp_path / "three", SMALL, workers=3)
    assert digests(again.folder) == digests(made[0].folder)
    again.verify()
    world.verify_truth(again)


def test_another_seed_writes_other_bytes(tmp_path, made):
    other = generate(tmp_path / "log", replace(SMALL, seed=1))
    different = digests(other.folder)
    assert all(different[name] != digest for name, digest in digests(made[0].folder).items())


def test_a_shard_does_not_depend_on_those_drawn_before():
    first, second = World(SMALL), World(SMALL)
    first.draw(0), first.draw(5)
    np.testing.assert_array_equal(first.draw(3).p, second.draw(3).p)


def test_no_more_than_a_few_shards_are_drawn_ahead(tmp_path, monkeypatch):
    drawn, written = [], []
    draw, append = World.draw, generating.TruthWriter.append

    def counted(self, shard):
        drawn.append(shard)
        return draw(self, shard)

    def appended(self, p):
        append(self, p)
        written.append(len(p))
        assert len(drawn) <= len(written) + 3 + generating._AHEAD

    monkeypatch.setattr(World, "draw", counted)
    monkeypatch.setattr(generating.TruthWriter, "append", appended)
    log = generate(tmp_path / "log", replace(SMALL, rows=4_000, shard_rows=100), workers=3)
    assert sorted(drawn) == list(range(40)) and log.rows == 4_000


# --- the truth -------------------------------------------------------------------------------------------------------


def test_labels_are_drawn_from_the_truth(made):
    labels, p = np.array(made[0].all.labels), made[1]
    assert p.dtype == np.float64 and p.min() > 0 and p.max() < 1
    assert abs(distance(p, labels)) < 4
    assert distance(np.roll(p, 1), labels) > 100  # the truth of other rows
    assert distance(p * 1.1, labels) > 4  # a tenth too high


def test_the_truth_is_no_feature(made):
    part, p = made[0].all, made[1]
    logit = np.log(p / (1 - p))
    columns = [*np.array(part.dense).T, *np.array(part.ids).T.astype(float)]
    most = max(abs(np.corrcoef(column, truth)[0, 1]) for column in columns for truth in (p, logit))
    assert most < 0.6
    assert part.schema.names == ("member", "ad", "campaign", "device", "country", "slot")
    assert len(part.schema.dense) == part.dense.shape[1] == 13
    assert {path.name for path in made[0].folder.iterdir()} == {
        *("manifest.json", "ids.i32", "dense.f32", "label.u1", "time.i8", "truth")
    }


def test_the_place_of_a_row_and_the_number_of_an_id_say_nothing():
    options = replace(SMALL, members=5_000, ads=3_000, campaigns=1_000, drift=0.0, rows=120_000)
    drawn = whole(options)
    assert abs(auc(drawn.labels, np.arange(options.rows)) - 0.5) < 0.015
    for field in (drawing.MEMBER, drawing.AD, drawing.CAMPAIGN):
        assert abs(auc(drawn.labels, drawn.ids[:, field]) - 0.5) < 0.04
    assert auc(drawn.labels, drawn.p) > 0.75


@pytest.mark.parametrize("rate", [0.03, 0.1, 0.25])
def test_the_base_rate_is_as_asked(rate):
    drawn = whole(replace(SMALL, base_rate=rate, rows=200_000))
    assert abs(drawn.p.mean() / rate - 1) < 0.03
    assert abs(drawn.labels.mean() / rate - 1) < 0.04


def test_a_damaged_truth_is_told(tmp_path):
    short = generate(tmp_path / "log", replace(SMALL, rows=500))
    path = short.folder / "truth" / "p.f64"
    whole_truth = path.read_bytes()
    path.write_bytes(whole_truth[:-8])
    with pytest.raises(CtrError, match=r"3,992 bytes where 500 rows need 4,000: it was cut short"):
        world.open_truth(short)
    path.write_bytes(bytes(8) + whole_truth[8:])
    with pytest.raises(CtrError, match="does not have the bytes that were written"):
        world.verify_truth(short)
    path.unlink()
    with pytest.raises(CtrError, match="its truth is missing"):
        world.open_truth(short)
    with pytest.raises(CtrError, match="is no generated log"):
        world.open_truth(replace(short, about={}))


# --- ids -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count, exponent", [(1, 1.0), (2, 0.7), (7, 0.0), (1_000, 1.05), (20_000, 0.7)])
def test_an_alias_table_holds_the_probabilities_it_was_made_from(count, exponent):
    p = zipf.zipf(count, exponent, np.random.default_rng(1))
    table = zipf.Alias.of(p)
    held = table.keep.astype(float) + np.bincount(table.other, 1 - table.keep.astype(float), count)
    np.testing.assert_allclose(held / count, p, rtol=2e-4, atol=1e-8 / count)
    assert table.keep.min() >= 0 and table.keep.max() <= 1
    drawn = table.draw(np.random.default_rng(2), 1_000)
    assert drawn.min() >= 0 and drawn.max() < count


@pytest.mark.parametrize("field, name", [(drawing.MEMBER, "member"), (drawing.AD, "ad"), (drawing.SLOT, "slot")])
def test_ids_come_as_often_as_their_law_says(field, name):
    options = replace(SMALL, new_ads=0.0, new_members=0.0)
    made = World(replace(options, shard_rows=options.rows))
    count = np.bincount(made.draw(0).ids[:, field])
    assert count[schema.UNKNOWN] == 0  # generated ids begin at 1
    expected = made.probabilities[name] * options.rows
    assert abs(chi_square(count[1:], expected)) < 4
    assert chi_square(count[1:], np.sort(expected)[::-1]) > 20  # had the busiest the smallest id


def test_an_id_is_busy_by_chance():
    p = World(replace(SMALL, members=20_001)).probabilities["member"]
    assert abs(np.corrcoef(np.arange(len(p)), p)[0, 1]) < 0.03


def test_ads_belong_to_campaigns_and_members_to_countries(made):
    ids = np.array(made[0].all.ids)
    assert len(np.unique(ids[:, [drawing.AD, drawing.CAMPAIGN]], axis=0)) == len(np.unique(ids[:, drawing.AD]))
    assert len(np.unique(ids[:, [drawing.MEMBER, drawing.COUNTRY]], axis=0)) == len(np.unique(ids[:, drawing.MEMBER]))
    rows = np.array([field.rows for field in made[0].schema.fields])
    assert rows.tolist() == [300, 60, 12, 6, 8, 15]
    assert np.all(ids.min(axis=0) >= 1) and np.all(ids.max(axis=0) < rows)


def test_members_mostly_use_their_device(made):
    ids = np.array(made[0].all.ids)
    uses = np.zeros((300, 6))
    np.add.at(uses, (ids[:, drawing.MEMBER], ids[:, drawing.DEVICE]), 1)
    busy = uses[uses.sum(axis=1) > 100]
    assert abs(busy.max(axis=1).sum() / busy.sum() - (0.8 + 0.2 / 5)) < 0.01


# --- time ------------------------------------------------------------------------------------------------------------


def test_splits_are_days(made):
    for name, days in {"train": (0, 7), "validation": (7, 8), "test": (8, 10)}.items():
        times = made[0].split(name).times
        assert times[0] // options.DAY == days[0] and times[-1] // options.DAY == days[1] - 1
    assert np.all(np.diff(made[0].all.times) >= 0)


def test_ads_are_born_during_the_log_and_stay_cold(made):
    train, test = made[0].split("train"), made[0].split("test")
    born = np.unique(test.ids[:, drawing.AD])[~np.isin(np.unique(test.ids[:, drawing.AD]), train.ids[:, drawing.AD])]
    assert len(born) >= 1
    mapped = cold_ids.unseen_to_unknown(train, test)
    cold = np.isin(test.ids[:, drawing.AD], born)
    assert np.all(mapped.ids[cold, drawing.AD] == schema.UNKNOWN)
    np.testing.assert_array_equal(mapped.ids[~cold, drawing.AD], test.ids[~cold, drawing.AD])
    assert np.all(mapped.ids[:, drawing.CAMPAIGN] == test.ids[:, drawing.CAMPAIGN])
    np.testing.assert_array_equal(cold_ids.unseen_to_unknown(train, train).ids, train.ids)
    age = made[0].all.dense[:, drawing.AGE]
    assert age.min() >= 0 and age.max() <= np.log(1 + 40)  # nothing is shown before it is born
    none = whole(replace(SMALL, new_ads=0.0))
    assert len(np.unique(none.ids[:30_000, drawing.AD])) == len(np.unique(none.ids[:, drawing.AD]))


def test_campaigns_drift_by_a_slope_of_their_own():
    still, moving = whole(replace(SMALL, drift=0.0)), whole(replace(SMALL, drift=0.5))
    np.testing.assert_array_equal(still.ids, moving.ids)
    moved = np.log(moving.p / (1 - moving.p)) - np.log(still.p / (1 - still.p))
    when = still.times / (10 * options.DAY) - 0.5
    slopes = []
    for campaign in range(1, 12):
        rows = still.ids[:, drawing.CAMPAIGN] == campaign
        slope, constant = np.polyfit(when[rows], moved[rows], 1)
        assert np.abs(moved[rows] - slope * when[rows] - constant).max() < 1e-4
        slopes.append(slope)
    assert 0.25 < np.std(slopes) < 1


# --- history ---------------------------------------------------------------------------------------------------------


def by_definition(drawn, options):
    """The six columns of history, each row by looking at all others."""
    start = drawn.times // options.bucket * options.bucket  # when the counts of a row were brought up to date
    known_at = start + options.bucket + options.label_delay  # of the clicks of its own bucket
    expected = np.empty((len(start), 6))
    for row in range(len(start)):
        known = known_at <= start[row]
        prior = (drawn.labels[known].sum() + options.smoothing * 0.1) / (known.sum() + options.smoothing)
        for place, field in enumerate((drawing.AD, drawing.CAMPAIGN, drawing.MEMBER)):
            same = known & (drawn.ids[:, field] == drawn.ids[row, field])
            clicks = drawn.labels[same].sum()
            expected[row, place] = (clicks + options.smoothing * prior) / (same.sum() + options.smoothing)
            expected[row, place + 3] = np.log1p(same.sum())
    return expected


SHORT = replace(SMALL, rows=1_200, days=3, test_days=1, shard_rows=600)
TIMES = [(1_800, 1_800), (1_800, 0), (3_600, 5_000), (options.DAY, 1), (60, 600)]


@pytest.mark.parametrize("bucket, label_delay", TIMES)
def test_history_is_what_was_known(tmp_path, bucket, label_delay):
    options = replace(SHORT, bucket=bucket, label_delay=label_delay)
    part = generate(tmp_path / "log", options).all
    drawn = replace(whole(options), ids=part.ids, labels=part.labels, times=part.times)
    np.testing.assert_allclose(part.dense[:, :6], by_definition(drawn, options), rtol=1e-5, atol=1e-6)
    earlier = by_definition(drawn, replace(options, label_delay=label_delay + bucket))
    assert np.abs(part.dense[:, :6] - earlier).max() > 0.01  # the clock matters, and this sees it


def test_later_clicks_do_not_change_earlier_features():
    drawn, changed = whole(SMALL), whole(SMALL)
    moment = 5 * options.DAY
    changed.labels[changed.times >= moment] ^= 1
    for each in (drawn, changed):
        history.History(SMALL, (60, 12, 300)).pass_by(each)
    same = np.all(drawn.dense == changed.dense, axis=1)
    assert np.all(same[drawn.times < moment + SMALL.bucket + SMALL.label_delay])
    assert np.mean(same[drawn.times >= moment + SMALL.bucket + SMALL.label_delay]) < 0.01


def test_leaky_counts_hold_the_own_click(tmp_path):
    options = replace(SMALL, members=3_000)
    honest, leaky = (generate(tmp_path / str(on), replace(options, leaky=on)) for on in (False, True))
    part, p = leaky.all, world.open_truth(leaky)
    labels = np.array(part.labels, float)
    np.testing.assert_array_equal(part.ids, honest.all.ids)
    np.testing.assert_array_equal(part.labels, honest.all.labels)
    prior = (labels.sum() + 2) / (options.rows + 20)
    for place, field in enumerate((drawing.AD, drawing.CAMPAIGN, drawing.MEMBER)):
        ids = part.ids[:, field]
        count = np.bincount(ids)[ids]
        np.testing.assert_allclose(
            part.dense[:, place], (np.bincount(ids, labels)[ids] + 20 * prior) / (count + 20), rtol=1e-5
        )
        np.testing.assert_allclose(part.dense[:, place + 3], np.log1p(count), rtol=1e-5)
    error = 1 / (12 * labels.sum()) ** 0.5
    for log_, caught in ((leaky, True), (honest, False)):
        score = log_.all.dense[:, 2]  # member_ctr
        assert bool((auc(labels, score) - auc(p, score)) / error > 4) == caught


# --- fewer negatives -------------------------------------------------------------------------------------------------


def test_negatives_are_left_out_of_training_alone(tmp_path, made):
    few = generate(tmp_path / "log", replace(SMALL, negative_rate=0.2))
    for name in ("validation", "test"):
        np.testing.assert_array_equal(few.split(name).times.shape, made[0].split(name).times.shape)
    train, p = few.split("train"), np.array(world.open_truth(few))
    all_train = made[0].split("train")
    assert train.labels.sum() == pytest.approx(all_train.labels.sum(), rel=0.05)
    negatives = np.sum(all_train.labels == 0)
    assert np.sum(train.labels == 0) == pytest.approx(0.2 * negatives, rel=0.03)
    assert abs(distance(world.downsampled(p[: train.rows], 0.2), np.array(train.labels))) < 4
    assert distance(p[: train.rows], np.array(train.labels)) > 100
    rest = slice(train.rows, None)
    assert abs(distance(p[rest], np.array(few.all.labels[rest]))) < 4


def test_history_counts_the_negatives_left_out():
    options = replace(SMALL, rows=2_000, negative_rate=0.2, shard_rows=2_000)
    drawn = World(options).draw(0)
    history.History(options, (60, 12, 300)).pass_by(drawn)
    kept = generating._kept(drawn)
    assert len(kept.labels) < 1_200
    np.testing.assert_allclose(kept.dense[:, :6], by_definition(drawn, options)[drawn.kept], rtol=1e-5, atol=1e-6)


def test_recalibration_undoes_it():
    p = np.array([0.001, 0.1, 0.5, 0.999])
    sampled = world.downsampled(p, 0.1)
    np.testing.assert_allclose(sampled / (1 - sampled), 10 * p / (1 - p))
    np.testing.assert_allclose(world.recalibrate(sampled, 0.1), p)
    np.testing.assert_array_equal(world.recalibrate(p, 1.0), p)
    assert world.recalibrate(np.float32([0.5]), 0.5).dtype == np.float64
    for rate in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(CtrError, match="is no share from above 0 to 1"):
            world.recalibrate(p, rate)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"rows": 0}, "rows=0 is not a whole number from 1 to"),
        ({"rows": 1e6}, "rows=1000000.0 is not a whole number"),
        ({"rows": True}, "rows=True is not a whole number"),
        ({"members": 1}, "members=1 is not a whole number from 2"),
        ({"members": 2**31 + 1}, "members=2147483649 is not a whole number"),
        ({"base_rate": 0.5}, "base_rate=0.5 is not a number from 0.03 to 0.25"),
        ({"drift": float("nan")}, "drift=nan is not a number"),
        ({"ad_exponent": "1"}, "ad_exponent='1' is not a number"),
        ({"negative_rate": 0}, "negative_rate=0 is not a number from 0.001"),
        ({"leaky": 1}, "leaky=1 is neither True nor False"),
        ({"bucket": 0}, "bucket=0 is not"),
        ({"seed": -1}, "seed=-1 is not"),
        ({"ads": 20, "campaigns": 30}, "20 ads cannot fill 30 campaigns"),
        ({"days": 3}, "1 days of validation and 2 of test leave nothing of 3 days"),
        ({"colour": 3}, "there is no option 'colour': there are rows, days"),
    ],
)
def test_options_that_make_no_log_are_refused(changes, says):
    with pytest.raises(CtrError) as refused:
        world.preset("small", **changes)
    assert says in str(refused.value)


def test_presets_have_names():
    assert world.preset() == Options() and world.preset("steady").drift == 0
    facts = world.preset("facts", seed=3)
    assert [facts.members, facts.ads, facts.campaigns, facts.devices, facts.countries, facts.slots] == [
        *(10_000_000, 1_000_000, 100_000, 10, 250, 1_000)
    ]
    with pytest.raises(CtrError, match="there is no preset 'huge': there are default, small"):
        world.preset("huge")


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_workers_are_a_number(tmp_path, workers):
    with pytest.raises(CtrError, match="is not a number of workers from 1"):
        generate(tmp_path / "log", SMALL, workers=workers)
    assert not (tmp_path / "log").exists()


def test_an_interrupted_log_does_not_open_and_can_be_made_again(tmp_path, made):
    def interrupt(done, total):
        assert total == 60_000
        if done >= 20_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path / "log", SMALL, workers=2, progress=interrupt)
    with pytest.raises(CtrError, match="one that was not finished"):
        log.open_log(tmp_path / "log")
    assert digests(generate(tmp_path / "log", SMALL).folder) == digests(made[0].folder)


def test_progress_is_told_after_each_shard(tmp_path):
    told = []
    generate(tmp_path / "log", replace(SMALL, rows=20_000, leaky=True), progress=lambda *now: told.append(now))
    assert told == [(done, 40_000) for done in (8_000, 16_000, 20_000, 28_000, 36_000, 40_000)]


def test_folders_that_cannot_hold_a_log_are_told(tmp_path, made, monkeypatch):
    with pytest.raises(CtrError, match="holds a log already"):
        generate(made[0].folder, SMALL)
    (tmp_path / "file").write_text("")
    with pytest.raises(CtrError, match="cannot be written"):
        generate(tmp_path / "file", SMALL)
    monkeypatch.setattr(generating.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 10**6}))
    with pytest.raises(CtrError, match=r"has 1 MB free, and the log needs \d+ MB"):
        generate(tmp_path / "log", SMALL)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.undo()
    monkeypatch.setattr(log.LogWriter, "append", full)
    with pytest.raises(CtrError, match="No space left on device"):
        generate(tmp_path / "full", SMALL)


def test_the_manifest_says_where_the_log_comes_from(made):
    about = json.loads((made[0].folder / "manifest.json").read_text())["about"]
    assert Options(**about["options"]) == SMALL
    assert about["source"] == "generated" and about["truth"]["rows"] == 60_000
