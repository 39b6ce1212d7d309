"""Lists of settings: values that differ, gaps, names that do not exist; clean lists have none."""

from __future__ import annotations

from tests.support.published import case_of
from windtunnel.published.case import Case, Point
from windtunnel.published.checks import scans, settings, spelling, treatments
from windtunnel.published.mapping import Map
from windtunnel.published.table import parse_table

WIDE = """setting,orc,parquet,avro
mapreduce.map.memory.mb,4096,4096,4096
mapreduce.reduce.memory.mb,8192,8192,8192
yarn.nodemanager.resource.memory-mb,65536,65536,65536
dfs.blocksize,268435456,268435456,268435456
dfs.replication,3,3,3
hive.default.fileformat,ORC,Parquet,Avro
"""
LONG = "option,platform,value\n" + "".join(
    f"{name},{platform},{value}\n"
    for platform in ("xeon", "arm", "atom")
    for name, value in (
        ("dfs.replication", 2),
        ("dfs.blocksize", 134217728),
        ("io.file.buffer.size", 65536),
        ("mapreduce.map.output.compress", "false" if platform == "xeon" else "true"),
        ("kernel.pid_max", 65536),
    )
)
MAPPED = Map.model_validate(
    {
        "workload": "job",
        "factors": {"platform": {"column": "platform", "baseline": "xeon"}},
        "metrics": {"elapsed": {"column": "time", "unit": "min"}},
    }
)


def points(text: str, mapped: Map | None = MAPPED) -> list[Point]:
    case = Case(
        case_of("intel-2012").results, tables={"t.csv": parse_table(text, "t.csv")}, mapped=mapped
    )
    checks = (
        settings.two_values, treatments.twice, treatments.differing, settings.one_side,
        spelling.misspelt, spelling.unknown, scans.determined, scans.impossible,
    )  # fmt: skip
    return [point for check in checks for point in check(case)]


def test_lists_without_differences_have_no_points() -> None:
    # A value that names the level, and a feature that only the baseline lacks, are the factor.
    assert points(WIDE) == []
    assert points(LONG) == []


def test_a_wide_list_with_one_other_value() -> None:
    (point,) = points(WIDE.replace("4096,4096,4096", "4096,6144,4096"))
    assert (point.severity, point.subject) == ("note", "mapreduce.map.memory.mb: two values")
    assert point.found == "6144 (parquet)"


def test_two_and_more_settings_are_one_note_that_lists_them() -> None:
    text = LONG.replace("blocksize,arm,134217728", "blocksize,arm,268435456")
    (point,) = points(text.replace("dfs.replication,arm,2", "dfs.replication,arm,3"))
    assert point.severity == "note"
    assert point.subject.startswith("2 settings differ between the treatments")
    assert "dfs.replication 2 (xeon), 3 (arm)" in point.found


def test_names_of_places_that_announce_changes_are_no_difference() -> None:
    text = WIDE.replace("orc,parquet,avro", "before,after,note").replace("4096,4096", "4096,6144")
    assert points(text) == []


def test_a_gap_in_a_wide_list() -> None:
    (point,) = points(WIDE.replace("dfs.replication,3,3,3", "dfs.replication,3,,3"))
    assert point.subject == "dfs.replication is missing in parquet"


def test_a_setting_that_is_listed_twice_with_two_values() -> None:
    (point,) = points(WIDE + "dfs.replication,2,2,2\n")
    assert point.severity == "serious"
    assert point.subject == "dfs.replication is listed twice with two values"
    (point,) = points(LONG + "dfs.replication,arm,3\n")
    assert point.subject == "dfs.replication is listed twice with two values: arm"


def test_a_setting_of_mapreduce_1_under_yarn() -> None:
    old = "mapred.tasktracker.map.tasks.maximum"
    (point,) = points(WIDE + f"{old},12,12,12\n")
    assert (point.severity, point.stated) == ("note", old)
    assert "YARN" in point.means
    # Hadoop still reads this deprecated name, and a list of MapReduce 1 is right with both.
    assert points(WIDE + "io.sort.mb,100,100,100\n") == []
    assert points(f"setting,a,b\n{old},12,12\nio.sort.mb,9,9\ndfs.replication,3,3\n") == []


def test_a_name_that_hadoop_3_does_not_have() -> None:
    invented = WIDE + "mapreduce.map.sort.buffer.mb,512,512,512\n"
    (point,) = points(invented)
    assert point.found == "no property of Hadoop 3 has this name"
    older = MAPPED.model_copy(update={"notes": ("All tests ran on Hadoop 2.7.",)})
    assert points(invented, older) == []


def test_the_place_of_a_misspelt_name_has_no_values() -> None:
    wrong = WIDE.replace("dfs.replication,3,3,3", "dfs.replicatoin,3,3,3")
    (point,) = points(wrong)
    assert point.stated == "dfs.replicatoin (line 6)"


def test_words_in_a_column_of_values_or_places_are_normal() -> None:
    tuning = "parameter,component,before,after\n" + "".join(
        f"hbase.x{n},hbase,{n},{2 * n}\n" for n in range(3, 14)
    )
    assert points(tuning + "dfs.client.read.shortcircuit,hdfs,false,true\n") == []
    sections = ["abstract", "1", "2", "2.1", "3.1", "3.2", "4", "5", "5.1", "6", "7"]
    claims = "place,text,count\n" + "".join(f"{s},text {s},{n}\n" for n, s in enumerate(sections))
    assert points(claims) == []
    assert len(points(claims.replace("place", "elapsed_s"))) == 1


def test_rounded_times_of_repetitions_are_not_determined_by_their_labels() -> None:
    rows = [
        f"{codec},{job},{run},{minutes + (codec == 'zstd' and job == 'join' and run == 2)}\n"
        for codec, extra in (("none", 3), ("snappy", 0), ("zstd", 1))
        for job, base in (("join", 16), ("sort", 9))
        for run in (1, 2, 3)
        for minutes in (base + extra,)
    ]
    text = "codec,job,run,time\n" + "".join(rows)
    assert [p.check for p in points(text.replace("time", "input_gb"))] == ["determined"]
    mapped = MAPPED.model_copy()
    assert points(text.replace("run,time", "run,time_min"), mapped.model_copy(
        update={"metrics": {"elapsed": mapped.metrics["elapsed"].model_copy(
            update={"column": "time_min"})}})) == []  # fmt: skip


def test_results_that_differ_in_the_last_digit_are_not_determined_by_their_labels() -> None:
    rows = [("a", "1.00"), ("b", "0.70"), ("c", "0.66"), ("d", "0.91"), ("e", "0.81")]
    text = "platform,job,speedup\n" + "".join(
        f"{platform},{job},{speedup}\n" for platform, speedup in rows for job in ("x", "y", "z")
    )
    assert points(text.replace("e,y,0.81", "e,y,0.82")) == []
    assert [p.check for p in points(text.replace("e,y,0.81", "e,y,0.18"))] == ["determined"]
