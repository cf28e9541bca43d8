"""Click logs on disk: what was written is what is read, and what a log must not hold is refused with its place."""

import importlib
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit import plugins

plugins.load("ctr")
CtrError = importlib.import_module("gpukit_labs.ctr.errors").CtrError
schemas = importlib.import_module("gpukit_labs.ctr.schema")
logs = importlib.import_module("gpukit_labs.ctr.storage.log")
parquet = importlib.import_module("gpukit_labs.ctr.storage.parquet")
pa = pytest.importorskip("pyarrow")
pq = importlib.import_module("pyarrow.parquet")

SCHEMA = schemas.Schema((schemas.Field("member", 6), schemas.Field("ad", 3)), ("age", "depth"))


def columns(rows=20, first=0, seed=0):
    """ids, dense, labels and times of `rows` rows."""
    draw = np.random.default_rng(seed)
    ids = np.stack([draw.integers(0, field.rows, rows) for field in SCHEMA.fields], axis=1).astype(np.int32)
    dense = draw.normal(size=(rows, 2)).astype(np.float32)
    return ids, dense, draw.integers(0, 2, rows).astype(np.uint8), first + np.arange(rows)


def made(folder, *shards, schema=SCHEMA):
    with logs.LogWriter(folder, schema) as writer:
        for shard in shards or (columns(12), columns(8, 12, 1)):
            writer.append(*shard)
        return writer.finish({"source": "a test"})


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("ids", "dense", "labels", "times"))


def says(*words):
    """A sentence on one line that says all of these."""
    return pytest.raises(CtrError, match=".*".join(re.escape(str(word)) for word in words) + "(?!\n)")


def edited(log, change):
    """The log's manifest, changed by hand."""
    path = log.folder / logs.MANIFEST
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    return log.folder


# --- the binary columns ----------------------------------------------------------------------------------------------


def test_a_log_is_read_as_it_was_written(tmp_path):
    made(tmp_path)
    log = logs.open_log(tmp_path)
    first, second = columns(12), columns(8, 12, 1)
    expected = [np.concatenate(pair) for pair in zip(first, second, strict=True)]
    assert same(log.all, logs.Part(SCHEMA, *expected))
    assert log.splits == {"train": (0, 16), "validation": (16, 18), "test": (18, 20)}
    assert log.split("test").first == 18 and same(log.split("test"), log.all.take(slice(18, 20)))
    assert log.schema == SCHEMA and log.about == {"source": "a test"}
    log.verify()


@pytest.mark.parametrize("at", [0, 11])
def test_ids_outside_their_field_are_refused_with_field_value_and_row(tmp_path, at):
    for wrong, ids_of in ((3, "ad"), (-1, "member"), (6, "member")):
        ids, *rest = columns(12, 8, 1)
        ids[at, SCHEMA.column(ids_of)] = wrong
        with logs.LogWriter(tmp_path, SCHEMA) as writer:
            writer.append(*columns(8))
            top = SCHEMA.fields[SCHEMA.column(ids_of)].rows - 1
            with says(f"id {wrong} of field '{ids_of}' at row {8 + at} is outside 0 to {top}"):
                writer.append(ids, *rest)


def test_ids_that_would_wrap_or_be_rounded_are_refused(tmp_path):
    ids, *rest = columns()
    with logs.LogWriter(tmp_path, SCHEMA) as writer:
        with says("ids are float64, and must be integers"):
            writer.append(ids.astype(np.float64), *rest)
        with says("id 4294967296 of field 'member' at row 0"):  # 0 once it is an int32
            writer.append(ids.astype(np.int64) * 0 + 2**32, *rest)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(tmp_path, value):
    ids, dense, *rest = columns()
    dense[7, 1] = value
    with logs.LogWriter(tmp_path, SCHEMA) as writer, says(f"must be finite, and row 7 of 'depth' is {value}"):
        writer.append(ids, dense, *rest)


def test_numbers_that_are_not_finite_as_float32_are_refused(tmp_path):
    ids, dense, *rest = columns()
    dense = dense.astype(np.float64)
    dense[3, 0] = 1e39
    with logs.LogWriter(tmp_path, SCHEMA) as writer, says("row 3 of 'age' is inf"):
        writer.append(ids, dense, *rest)
    with logs.LogWriter(tmp_path, SCHEMA) as writer, says("dense.f32 of shard 0 must be numbers, and not <U"):
        writer.append(ids, dense.astype(str), *rest)


@pytest.mark.parametrize("label", [2, -1, 0.5, np.nan])
def test_labels_other_than_0_and_1_are_refused(tmp_path, label):
    ids, dense, labels, times = columns()
    labels = labels.astype(float)
    labels[5] = label
    with logs.LogWriter(tmp_path, SCHEMA) as writer, says("the label at row 5 is", label):
        writer.append(ids, dense, labels, times)


def test_times_that_go_back_are_refused_within_a_shard_and_between_two(tmp_path):
    ids, dense, labels, times = columns(first=100)
    with logs.LogWriter(tmp_path, SCHEMA) as writer:
        with says("time 99 at row 2 comes after 101", "sort"):
            writer.append(ids, dense, labels, np.where(np.arange(20) == 2, 99, times))
        with says("times are float64, and must be integers"):
            writer.append(ids, dense, labels, times + 0.5)
        writer.append(ids, dense, labels, times)
        with says("time 100 at row 20 comes after 119"):
            writer.append(ids, dense, labels, times)


def test_shapes_and_empty_shards_are_refused(tmp_path):
    ids, dense, labels, times = columns()
    with logs.LogWriter(tmp_path, SCHEMA) as writer:
        with says("shard 0 has no rows"):
            writer.append(ids[:0], dense[:0], labels[:0], times[:0])
        with says("ids.i32 of shape (20, 1)", "(20, 2)"):
            writer.append(ids[:, :1], dense, labels, times)
        with says("time.i8 of shape (19,)"):
            writer.append(ids, dense, labels, times[1:])
        with says("no rows", "nothing to learn"):
            writer.finish({})


def test_a_log_without_dense_features(tmp_path):
    ids, _, labels, times = columns()
    schema = replace(SCHEMA, dense=())
    log = made(tmp_path / "log", (ids, np.empty((20, 0), np.float32), labels, times), schema=schema)
    log.verify()
    assert log.all.dense.shape == (20, 0)
    parquet.write_parquet(log, tmp_path / "parquet")
    assert same(parquet.read_parquet(tmp_path / "parquet", tmp_path / "again").all, log.all)


def test_a_folder_that_holds_a_log_is_kept(tmp_path):
    made(tmp_path)
    with says(tmp_path, "holds a log already"):
        logs.LogWriter(tmp_path, SCHEMA)
    logs.open_log(tmp_path).verify()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with says("file", "cannot be written"):
        logs.LogWriter(tmp_path / "file" / "log", SCHEMA)


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_a_full_disk_is_a_sentence(tmp_path):
    for name in ("ids.i32", "dense.f32", "label.u1", "time.i8"):
        (tmp_path / name).symlink_to("/dev/full")
    with logs.LogWriter(tmp_path, SCHEMA) as writer, says("cannot be written", "make room"):
        writer.append(*columns())  # waits in buffers
        writer.finish({})
    with logs.LogWriter(tmp_path, SCHEMA) as writer, says("cannot be written", "make room"):
        writer.append(*columns(20_000))


def test_logs_that_are_not_there_or_not_finished(tmp_path):
    with says("no folder", tmp_path / "none", "gpukit ctr generate"):
        logs.open_log(tmp_path / "none")
    with logs.LogWriter(tmp_path, SCHEMA) as writer:
        writer.append(*columns())
    with says("has no manifest.json", "not finished"):
        logs.open_log(tmp_path)


@pytest.mark.parametrize("name", ["ids.i32", "dense.f32", "label.u1", "time.i8"])
def test_a_column_that_is_cut_short_missing_or_changed(tmp_path, name):
    log = made(tmp_path)
    path = tmp_path / name
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with says(path, f"{len(whole) - 1:,} bytes where 20 rows need {len(whole):,}"):
        _ = log.all
    path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    with says("shard 0", "(rows 0 on)", "does not have the bytes that were written"):
        log.verify()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with says("shard 1", "(rows 12 on)"):
        log.verify()
    path.unlink()
    with says(path, "cannot be read"):
        _ = log.all


def test_wrong_values_under_right_checksums_are_found(tmp_path):
    """As when another program wrote the files."""
    log = made(tmp_path)
    raw = np.fromfile(tmp_path / "label.u1", np.uint8)
    raw[13] = 7
    raw.tofile(tmp_path / "label.u1")

    def right(manifest):
        part = log.all.take(slice(12, 20))
        manifest["shards"][1]["sha256"] = logs.checksum(part.ids, part.dense, part.labels, part.times)

    with says(tmp_path, "the label at row 13 is 7"):
        logs.open_log(edited(log, right)).verify()


def test_a_schema_with_fewer_rows_than_ids_is_found(tmp_path):
    log = made(tmp_path)
    wrong = edited(log, lambda m: m["schema"]["fields"][1].update(rows=2))
    with says("id 2 of field 'ad' at row", "outside 0 to 1"):
        logs.open_log(wrong).verify()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update(rows=19), ("says 19 rows", "splits hold 20")),
        (lambda m: m["splits"].update(train=[0, 18]), ("splits that do not follow", "rows 16 to 18 where row 18")),
        (lambda m: m["splits"].update(validation=[16, 21], test=[21, 20]), ("rows 21 to 20",)),
        (lambda m: m["splits"].pop("test"), ("has splits train, validation", "train, validation, test")),
        (lambda m: m["splits"].update(train="all"), ("cannot be read",)),
        (lambda m: m["shards"].pop(), ("says 20 rows", "shards hold 12")),
        (lambda m: m["shards"][1].update(first=11), ("shards that do not follow", "row 12 comes next")),
        (lambda m: m["shards"][1].pop("sha256"), ("has no 'sha256'",)),
        (lambda m: m.pop("schema"), ("has no 'schema'",)),
        (lambda m: m["schema"].update(fields=[]), ("at least one field",)),
        (lambda m: m["schema"].update(fields=[3]), ("no schema of a click log",)),
        (lambda m: m.update(rows="many"), ("cannot be read",)),
        (lambda m: m.update(format=99), ("format 99", "reads 1: make the log again")),
        (lambda m: m.update(about=7), ("cannot be read",)),
    ],
)
def test_a_manifest_that_was_edited(tmp_path, change, words):
    with says("manifest.json", *words):
        logs.open_log(edited(made(tmp_path), change))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff", b"[" * 100_000], ids=range(6))
def test_a_manifest_that_is_none(tmp_path, content):
    made(tmp_path)
    (tmp_path / logs.MANIFEST).write_bytes(content)
    with says("manifest.json", "cannot be read"):
        logs.open_log(tmp_path)


def test_splits_and_fields_by_their_names(tmp_path):
    log = made(tmp_path)
    with says("no split 'exam'", "train, validation, test"):
        log.split("exam")
    with says("no field 'shop'", "member, ad"):
        log.schema.column("shop")
    with logs.LogWriter(tmp_path / "short", SCHEMA) as writer:
        writer.append(*columns(3))
        short = writer.finish({}, bounds=(3, 3))
        with says("rows 2 and 1 of 3"):
            writer.finish({}, bounds=(2, 1))
    with says("'test'", "has no rows"):
        short.split("test")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ((), "at least one field"),
        ((("a", 2), ("a", 2)), "'a' twice"),
        ((("a", 0),), "'a' has 0 rows"),
        ((("a", 2**31 + 1),), "2,147,483,649 rows"),
    ],
)
def test_schemas_that_are_none(fields, words):
    with says(words):
        schemas.Schema(tuple(schemas.Field(*field) for field in fields))


# --- Parquet ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path):
    """A log of 20 rows as three Parquet shards: 8, 8 and 4 rows."""
    log = made(tmp_path / "log")
    return log, parquet.write_parquet(log, tmp_path / "parquet", rows_per_file=8)


def read(written, folder="again"):
    _, paths = written
    return parquet.read_parquet(paths[0].parent, paths[0].parents[1] / folder)


def rewritten(path, change):
    """A shard, changed by `change(table)`; what it says of itself stays."""
    table = pq.read_table(path)
    pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), path)


def with_value(name, row, value, kind=None):
    def change(table):
        values = table[name].to_pylist()
        values[row] = value
        at = table.column_names.index(name)
        return table.set_column(at, name, pa.array(values, kind or table[name].type))

    return change


def test_a_log_goes_through_parquet_unchanged(written):
    log, paths = written
    assert [path.name for path in paths] == [f"part-0000{k}.parquet" for k in range(3)]
    again = read(written)
    assert same(again.all, log.all)
    assert (again.schema, again.splits, again.about) == (log.schema, log.splits, log.about)
    again.verify()


@settings(max_examples=8, deadline=None)
@given(st.integers(3, 40), st.integers(1, 41), st.integers(1, 7), st.integers(1, 9), st.floats(0, 1), st.integers(0, 9))
def test_any_log_goes_through_parquet_unchanged(tmp_path_factory, rows, per_file, per_group, at_once, share, seed):
    folder = tmp_path_factory.mktemp("log")
    ids, dense, labels, times = columns(rows, -5, seed)
    dense[0] = np.finfo(np.float32).max, -0.0
    with logs.LogWriter(folder / "log", SCHEMA) as writer:
        writer.append(ids, dense, labels, times * 2**40)
        log = writer.finish({"seed": seed}, bounds=sorted((int(share * rows), rows - 1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "ROWS_PER_GROUP", per_group)
        patch.setattr(parquet, "ROWS_READ", at_once)
        parquet.write_parquet(log, folder / "parquet", per_file)
        again = parquet.read_parquet(folder / "parquet", folder / "again")
    assert same(again.all, log.all) and again.splits == log.splits and again.about == log.about


def test_the_truth_stays_behind_and_is_not_spoken_of(tmp_path):
    """Else what was read back would be a log whose truth is missing."""
    with logs.LogWriter(tmp_path / "log", SCHEMA) as writer:
        writer.append(*columns(20))
        log = writer.finish({"source": "a world", "truth": {"rows": 20}})
    parquet.write_parquet(log, tmp_path / "parquet")
    assert parquet.read_parquet(tmp_path / "parquet", tmp_path / "again").about == {"source": "a world"}


def test_other_programs_read_the_columns(written):
    log, paths = written
    table = pq.read_table(paths[0].parent)
    assert table.column_names == ["member", "ad", "age", "depth", "label", "time"]
    assert np.array_equal(table["ad"].to_numpy(), log.all.ids[:, 1])
    assert pq.ParquetFile(paths[0]).schema_arrow.field("age").type == pa.float32()


def test_a_parquet_file_of_another_program(tmp_path):
    ids, dense, labels, times = columns()
    names = {"member": ids[:, 0], "ad": ids[:, 1], "age": dense[:, 0], "depth": dense[:, 1]}
    table = pa.table({"time": times, "label": labels, **names})  # in another order
    pq.write_table(table, tmp_path / "own.parquet")
    log = parquet.read_parquet(tmp_path / "own.parquet", tmp_path / "log", schema=SCHEMA)
    assert same(log.all, logs.Part(SCHEMA, ids, dense, labels, times))
    assert log.splits["train"] == (0, 16)
    with says("own.parquet", "does not say which columns are ids", "schema="):
        parquet.read_parquet(tmp_path / "own.parquet", tmp_path / "other")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_value("ad", 5, 3), "id 3 of field 'ad' at row 5 is outside 0 to 2"),
        (with_value("member", 0, -1), "id -1 of field 'member' at row 0 is outside 0 to 5"),
        (with_value("depth", 7, float("nan")), "dense features must be finite, and row 7 of 'depth' is nan"),
        (with_value("age", 1, float("-inf")), "dense features must be finite, and row 1 of 'age' is -inf"),
        (with_value("label", 4, 2), "the label at row 4 is 2"),
        (with_value("time", 2, 0), "time 0 at row 2 comes after 9"),
        (with_value("time", 0, 6), "time 6 at row 0 comes after 7"),
        (with_value("ad", 6, None), "column 'ad' has no value at row 6 (null)"),
        (with_value("ad", 0, 1, pa.int64()), "column 'ad' is int64, and int32 belongs there"),
        (with_value("age", 0, 1.0, pa.float64()), "column 'age' is double, and float belongs there"),
        (with_value("label", 0, 1, pa.int8()), "column 'label' is int8, and uint8 belongs there"),
        (lambda t: t.drop_columns(["depth"]), "column 'depth' is missing (1 of 6 are)"),
        (lambda t: t.drop_columns(["label", "time"]), "column 'label' is missing (2 of 6 are)"),
        (lambda t: t.append_column("p", t["age"]), "column 'p' is in no schema of this log"),
        (lambda t: t.append_column("ad", t["ad"]), "a column is there twice"),
        (lambda t: t.slice(0, 0), "this shard has no rows"),
    ],
)
def test_what_a_shard_must_not_hold_is_named_with_file_column_value_and_row(written, change, words):
    _, paths = written
    rewritten(paths[1], change)
    with says(f"{paths[1]}: {words}"):
        read(written)
    assert not (paths[0].parents[1] / "again" / logs.MANIFEST).exists()


def test_rows_are_numbered_within_the_file_over_row_groups(written, monkeypatch):
    _, paths = written
    rewritten(paths[1], with_value("ad", 6, 9))
    monkeypatch.setattr(parquet, "ROWS_READ", 4)
    with says(paths[1], "id 9 of field 'ad' at row 6"):
        read(written)
    rewritten(paths[1], with_value("ad", 6, None))
    with says(paths[1], "no value at row 6"):
        read(written)


@pytest.mark.parametrize("keep", [0, 3, 100, -1, -200])
def test_a_truncated_parquet_file(written, keep):
    _, paths = written
    whole = paths[2].read_bytes()
    paths[2].write_bytes(whole[:keep])
    with says(paths[2], "cut short", "write or copy it again"):
        read(written)


def test_a_parquet_file_whose_pages_are_damaged(written):
    _, paths = written
    whole = bytearray(paths[1].read_bytes())
    at = pq.ParquetFile(paths[1]).metadata.row_group(0).column(2)
    whole[at.data_page_offset + at.total_compressed_size - 1] ^= 1
    paths[1].write_bytes(whole)
    with says(paths[1], "its rows from 0 on cannot be read"):
        read(written)


def change_of(path, change):
    """What a shard says of itself, changed."""
    table = pq.read_table(path)
    told = json.loads(table.schema.metadata[parquet.KEY])
    change(told)
    pq.write_table(table.replace_schema_metadata({parquet.KEY: json.dumps(told)}), path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t["schema"]["fields"][1].update(rows=4), "field 'ad' has 4 rows where it had 3"),
        (lambda t: t["schema"]["fields"][1].update(name="offer"), "field 'offer' where 'ad' was"),
        (lambda t: t["schema"]["fields"].pop(), "1 fields where there were 2"),
        (lambda t: t["schema"]["dense"].reverse(), "dense features in another order"),
        (lambda t: t["schema"]["dense"].pop(), "dense feature 'depth' is in one alone"),
        (lambda t: t["schema"].update(hours=False), "times that only give an order"),
    ],
)
def test_a_schema_that_changes_between_shards(written, change, words):
    _, paths = written
    change_of(paths[1], change)
    if "fields" in words or "'offer'" in words or "'depth'" in words:  # columns go with the schema
        told = json.loads(pq.read_schema(paths[1]).metadata[parquet.KEY])["schema"]
        names = [field["name"] for field in told["fields"]] + told["dense"] + ["label", "time"]
        rewritten(paths[1], lambda t: t.rename_columns({"ad": "offer"} if "offer" in names else {}).select(names))
    with says(paths[1], "its schema is not that of part-00000.parquet", words):
        read(written)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.update(format=2), "format 2, and this reads 1"),
        (lambda t: t.pop("splits"), "splits"),
        (lambda t: t.update(schema=3), "no schema"),
        (lambda t: t.update(file="x"), "invalid literal"),
    ],
)
def test_a_shard_that_says_nothing_usable_of_itself(written, change, words):
    change_of(written[1][1], change)
    with says(written[1][1], "what it says of the log cannot be read", words):
        read(written)


def test_shards_that_are_missing_twice_or_of_another_log(written, tmp_path):
    _, paths = written
    (tmp_path / "kept").mkdir()
    paths[1].rename(tmp_path / "kept" / "part")
    with says("lacks shard 1 of the log's 3 (1 missing)"):
        read(written)
    with says("lacks shard 1 of the log's 3 (2 missing)"):
        parquet.read_parquet(paths[0], tmp_path / "one")
    paths[1].write_bytes((tmp_path / "kept" / "part").read_bytes())
    (twin := paths[0].with_name("z.parquet")).write_bytes(paths[1].read_bytes())
    with says("shard 1 of the log is here twice"):
        read(written)
    twin.unlink()
    change_of(paths[2], lambda t: t.update(rows=21))
    with says(paths[2], "of another log than part-00000.parquet"):
        read(written)


def test_a_shard_that_lost_rows(written):
    rewritten(written[1][1], lambda table: table.slice(0, 7))
    with says("shards that do not follow one another", "row 15 comes next"):
        read(written)


def test_shards_may_have_any_names(written):
    log, paths = written
    for path, name in zip(paths, "cab", strict=True):
        path.rename(path.with_name(f"{name}.parquet"))
    assert same(read(written).all, log.all)


def test_the_schema_that_was_asked_for(written, tmp_path):
    _, paths = written
    asked = schemas.Schema((schemas.Field("member", 6), schemas.Field("ad", 5)), ("age", "depth"))
    with says("not the one asked for", "field 'ad' has 3 rows where it had 5"):
        parquet.read_parquet(paths[0].parent, tmp_path / "other", schema=asked)


def test_places_that_are_none(written, tmp_path):
    log, paths = written
    with says("no file or folder", tmp_path / "none"):
        parquet.read_parquet(tmp_path / "none", tmp_path / "log2")
    (tmp_path / "empty").mkdir()
    with says("holds no Parquet files"):
        parquet.read_parquet(tmp_path / "empty", tmp_path / "log2")
    with says("holds Parquet files already"):
        parquet.write_parquet(log, paths[0].parent)
    with says("holds a log already"):
        parquet.read_parquet(paths[0].parent, log.folder)
    with says("cannot be written"):
        parquet.write_parquet(log, log.folder / "label.u1" / "x")
    with says("a file of 0 rows"):
        parquet.write_parquet(log, tmp_path / "zero", 0)


def test_a_field_named_label(tmp_path):
    schema = schemas.Schema((schemas.Field("label", 9), schemas.Field("ad", 9)), ("age", "depth"))
    with says("names a column 'label'"):
        parquet.write_parquet(made(tmp_path / "log", columns(), schema=schema), tmp_path / "parquet")


def test_without_pyarrow(written, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with says('Parquet needs pyarrow: python -m pip install -e ".[ctr]"'):
        parquet.write_parquet(written[0], tmp_path / "other")
    with says("Parquet needs pyarrow"):
        parquet.read_parquet(tmp_path, tmp_path / "other")
