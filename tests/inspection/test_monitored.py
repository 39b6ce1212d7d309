"""Which hosts of a cluster a Prometheus server knows, and what it knows of their machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.prometheus_web import ADDRESSES, GIB, HOSTS, INSTANCES, PrometheusWeb
from tests.support.webserver import Reply, Request, serving
from windtunnel.errors import ClusterAccessError, UsageError
from windtunnel.hosts.rest import RestClient
from windtunnel.hosts.rest.prometheus import Prometheus
from windtunnel.inspection.devices import Machine
from windtunnel.inspection.monitored import MonitoredHosts

Make = Callable[..., MonitoredHosts]


@pytest.fixture
def web() -> PrometheusWeb:
    return PrometheusWeb(dict(INSTANCES))


@pytest.fixture
def url(web: PrometheusWeb) -> Iterator[str]:
    with serving(web) as url:
        yield url


@pytest.fixture
def client() -> Iterator[RestClient]:
    with RestClient() as client:
        yield client


@pytest.fixture
def monitored(client: RestClient, url: str) -> Make:
    def make(*names: str, path: str = "") -> MonitoredHosts:
        return MonitoredHosts(Prometheus(client, url + path), names or HOSTS, "", ADDRESSES)

    return make


def test_hosts_are_found_by_name_reported_name_and_address(monitored: Make) -> None:
    targets = monitored().targets
    assert targets.hosts == {
        "master.example:9100": "master.example",
        "gateway:9100": "worker-1.example",
        "10.0.0.12:9100": "worker-2.example",
    }
    assert targets.missing == []
    assert targets.interval_s == pytest.approx(1.0)


def test_no_host_of_the_cluster(monitored: Make) -> None:
    with pytest.raises(ClusterAccessError, match="has no node exporter of a host") as caught:
        monitored("other.example").machines()
    assert "master.example:9100" in caught.value.message
    assert "other.example" in caught.value.message


def test_a_host_with_two_targets(web: PrometheusWeb, monitored: Make) -> None:
    web.instances["worker-1.example:9101"] = "worker-1"
    with pytest.raises(
        ClusterAccessError, match=r"several targets .* host worker-1\.example"
    ) as it:
        monitored().machines()
    assert "the host worker-1.example" in it.value.message
    assert "selector" in str(it.value.remedy)


def test_an_instance_in_two_jobs(web: PrometheusWeb, monitored: Make) -> None:
    web.duplicates = 2
    with pytest.raises(ClusterAccessError, match="has 2 targets with the instance"):
        monitored().machines()


def test_another_server_is_named(monitored: Make) -> None:
    with pytest.raises(ClusterAccessError, match="Prometheus, query"):
        monitored(path="/graph").machines()


def test_the_machines_are_those_of_the_node_exporters(monitored: Make) -> None:
    found = monitored().machines()
    assert found.keys() == set(HOSTS)
    assert found["worker-1.example"] == Machine(8, int(16 * GIB), (1.25e9,))


@pytest.mark.parametrize("mbit_s", [0, 65535, 4294967295])
def test_a_nic_of_unknown_speed_has_no_rate(
    web: PrometheusWeb, monitored: Make, monkeypatch: pytest.MonkeyPatch, mbit_s: int
) -> None:
    known = PrometheusWeb.values
    monkeypatch.setattr(
        PrometheusWeb,
        "values",
        lambda self, query: (
            [({"device": "eno1"}, lambda _: mbit_s * 125e3)]
            if "speed_bytes" in query
            else known(self, query)
        ),
    )
    assert monitored().machines()["worker-1.example"] == Machine(8, int(16 * GIB), ())


def test_an_answer_of_another_kind_is_named(client: RestClient) -> None:
    text = "does not answer as a Prometheus server"
    with (
        serving(lambda request: Reply({"status": "ok"})) as url,
        pytest.raises(ClusterAccessError, match=text),
    ):
        Prometheus(client, url).instant("up")


def test_values_that_are_no_numbers_are_omitted(client: RestClient) -> None:
    def answer(request: Request) -> Reply:
        rows = [
            {"metric": {"instance": "a:1"}, "values": [[1, "NaN"], [2, "+Inf"], [3, "4.5"]]},
            {"metric": {"instance": "b:1"}, "histogram": [1, {}]},
        ]
        return Reply({"status": "success", "data": {"resultType": "matrix", "result": rows}})

    with serving(answer) as url:
        first, second = Prometheus(client, url).instant("up")
    assert (first.instance, first.points) == ("a:1", [(3.0, 4.5)])
    assert second.points == []


def test_a_long_range_is_queried_in_parts(client: RestClient) -> None:
    steps: list[tuple[float, float]] = []

    def answer(request: Request) -> Reply:
        start, end = (float(request.query[name]) for name in ("start", "end"))
        steps.append((start, end))
        points = [[start + number, "1"] for number in range(int(end - start) + 1)]
        rows = [{"metric": {"instance": "a:1"}, "values": points}]
        return Reply({"status": "success", "data": {"resultType": "matrix", "result": rows}})

    with serving(answer) as url:
        (series,) = Prometheus(client, url).over("up", 0.0, 480.0, 1.0)
    times = [t for t, _ in series.points]
    assert times == [float(number) for number in range(481)]
    assert len(steps) == 3 and all(end - start < 240 for start, end in steps)


@pytest.mark.parametrize(
    ("instance", "reported", "host"),
    [
        ("Worker-1.example:9100", "", "worker-1.example"),
        ("worker-1:9100", "", "worker-1.example"),
        ("worker-1.test:9100", "", None),  # another domain
        ("10.0.0.12:9100", "", "worker-2.example"),
        ("10.0.0.13:9100", "", None),
        ("[fd00::1]:9100", "worker-2.example", "worker-2.example"),
        ("fd00::1", "", None),
        ("node-7", "WORKER-2", "worker-2.example"),
    ],
)
def test_which_host_an_instance_is(
    monitored: Make, instance: str, reported: str, host: str | None
) -> None:
    assert monitored().host_of(instance, reported) == host


def test_a_target_whose_labels_changed_is_one_target(client: RestClient) -> None:
    parts = [range(5), range(5, 9)]

    def answer(request: Request) -> Reply:
        rows = [
            {
                "metric": {"instance": "worker-1:9100", "pod": str(number)},
                "values": [[t, "1"] for t in part],
            }
            for number, part in enumerate(parts)
        ]
        return Reply({"status": "success", "data": {"resultType": "matrix", "result": rows}})

    with serving(answer) as url:
        hosts = MonitoredHosts(Prometheus(client, url), ["worker-1"])
        assert hosts.scrapes(9, 9) == {"worker-1:9100": [float(t) for t in range(9)]}
        parts[1] = range(4, 9)
        with pytest.raises(ClusterAccessError, match="2 targets with the instance worker-1:9100"):
            hosts.scrapes(9, 9)


def test_a_password_in_the_url_is_refused(client: RestClient) -> None:
    with pytest.raises(UsageError, match="contains a user") as caught:
        Prometheus(client, "http://me:secret@prometheus:9090")
    assert "secret" not in str(caught.value)


def test_a_selector_may_contain_the_words_of_queries(client: RestClient) -> None:
    selector = 'dc="ORANGE SELECTOR"'
    hosts = MonitoredHosts(Prometheus(client, "http://p"), HOSTS, selector)
    query = hosts.query('irate(a{b="c",SELECTOR}[RANGE]) - d{SELECTOR}', 2.0)
    assert query == f'irate(a{{b="c",{selector}}}[10s]) - d{{{selector}}}'
