"""Samples of the hosts of a cluster from Prometheus: which hosts, which times, which errors."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.prometheus_web import ADDRESSES, GIB, HOSTS, INSTANCES, PrometheusWeb
from tests.support.webserver import serving
from windtunnel.errors import ClusterAccessError
from windtunnel.hosts.rest import RestClient
from windtunnel.hosts.rest.prometheus import Prometheus
from windtunnel.results.record import Phase
from windtunnel.results.sample import Recording
from windtunnel.study.storage_cpu import storage_cpu_s
from windtunnel.testbeds.attached.prometheus_samples import PrometheusSamples
from windtunnel.testbeds.attached.source_options import PrometheusOptions

Make = Callable[..., PrometheusSamples]


@pytest.fixture
def web() -> PrometheusWeb:
    return PrometheusWeb(dict(INSTANCES))


@pytest.fixture
def url(web: PrometheusWeb) -> Iterator[str]:
    with serving(web) as url:
        yield url


@pytest.fixture
def hosts_of(url: str) -> Iterator[Make]:
    with RestClient() as client:

        def make(**options: Any) -> PrometheusSamples:
            given = PrometheusOptions.model_validate({"url": url, **options})
            return PrometheusSamples(Prometheus(client, url), given, HOSTS, ADDRESSES)

        yield make


def recorded(hosts: PrometheusSamples, seconds: float) -> tuple[Recording, float, float]:
    until = time.time() - 1
    return hosts.record(until - seconds, until), until - seconds, until


def test_the_facts_are_those_of_the_node_exporter(hosts_of: Make) -> None:
    facts = hosts_of().facts()
    assert facts["worker-1.example"] == {
        "worker": True,
        "cpu_threads": 8,
        "memory_bytes": 16 * GIB,
        "network_bytes_s": 1.25e9,
    }
    assert facts["master.example"]["worker"] is False
    assert hosts_of().source() == {"source": "Prometheus, node exporter", "interval_s": 1.0}


def test_each_scrape_is_one_sample_in_the_middle_of_its_interval(hosts_of: Make) -> None:
    made, since, until = recorded(hosts_of(), 20)
    received = [
        sample
        for sample in made.samples
        if (sample.host, sample.metric) == ("worker-1.example", "net_received")
    ]
    assert 19 <= len(received) <= 22
    # the value is that of the scrape that ends the interval
    for sample in received:
        assert sample.value == pytest.approx(sample.time_s % 1000)
    times = [sample.time_s for sample in received]
    assert len(set(times)) == len(times)
    assert times[0] > since - 1 and times[-1] >= until
    assert made.problems == [] and made.power_source is None


def test_the_metrics_are_those_of_other_testbeds(hosts_of: Make) -> None:
    made, _, _ = recorded(hosts_of(), 10)
    hosts = {sample.host for sample in made.samples}
    assert hosts == HOSTS.keys()
    values = {sample.metric: sample.value for sample in made.samples}
    assert values == {
        "cpu_user": 0.25,
        "cpu_idle": 0.7,
        "cpu_iowait": 0.05,
        "load_1min": 1.5,
        "memory_used": 4 * GIB,  # the fake has one value for the difference
        "page_cache": 2 * GIB,
        "disk_read": 1e6,
        "disk_write": 2e6,
        "disk_busy:sda": 0.5,
        "disk_busy:sdb": 0.1,
        "net_received": values["net_received"],
        "net_sent": 4e6,
    }
    together = Counter(
        (sample.host, sample.time_s) for sample in made.samples if "cpu_" in sample.metric
    )
    assert set(together.values()) == {3}, "the states of a host have the same times"


def test_the_last_scrape_after_the_end_is_awaited(web: PrometheusWeb, hosts_of: Make) -> None:
    web.interval_s = 2.0
    until = time.time()
    made = hosts_of().record(until - 10, until)
    last = max(sample.time_s for sample in made.samples if sample.metric == "load_1min")
    assert last >= until


def test_hosts_that_are_not_monitored_are_named(web: PrometheusWeb, hosts_of: Make) -> None:
    del web.instances["10.0.0.12:9100"]
    notes = hosts_of().caveats()
    assert "a sample every 1 s; a phase of less than 3 s has fewer than three" in notes[0]
    assert notes[1] == "hosts: Prometheus has no samples of 1 host: worker-2.example"


def test_clocks_that_differ_are_stated(web: PrometheusWeb, hosts_of: Make) -> None:
    web.ahead_s = -7.0
    assert "the clock of Prometheus is 7 s behind that of this machine" in hosts_of().caveats()[1]


def test_the_selector_is_part_of_each_query(web: PrometheusWeb, hosts_of: Make) -> None:
    recorded(hosts_of(selector='job="node"'), 5)
    own = [query for query in web.queries if "time()" not in query]
    assert own
    assert all('job="node"' in query and "SELECTOR" not in query for query in own)
    assert all("RANGE" not in query for query in own)
    web.queries.clear()
    recorded(hosts_of(), 5)
    assert not any(",}" in query or "SELECTOR" in query for query in web.queries)


def test_daemons_of_a_jmx_exporter(hosts_of: Make) -> None:
    hosts = hosts_of(daemons={"datanode": 'job="dn"', "namenode": 'job="nn"'})
    assert hosts.caveats()[1:] == [
        'daemons: Prometheus has no namenode of the cluster with job="nn"'
    ]
    made, since, until = recorded(hosts, 20)
    found = {
        (sample.host, sample.metric, sample.value, sample.unit)
        for sample in made.samples
        if sample.metric.startswith("daemon_")
    }
    assert found == {
        (host, f"{name}:datanode@{host}", value, unit)
        for host in ("worker-1.example", "worker-2.example")
        for name, value, unit in (("daemon_cpu", 0.5, "cores"), ("daemon_rss", GIB, "bytes"))
    }
    times = [
        one.time_s for one in made.samples if one.metric == "daemon_cpu:datanode@worker-1.example"
    ]
    assert times[0] <= since + 1 and times[-1] >= until - 1 and len(times) >= 20
    phases = [made_phase(since, until)]
    # two hosts with half a core
    assert storage_cpu_s(made.samples, phases) == pytest.approx(20.0, rel=0.05)


def made_phase(since: float, until: float) -> Phase:
    return Phase(
        name="sort",
        started_at=since,
        finished_at=until,
        elapsed_s=until - since,
        wall_s=until - since,
        metrics={},
    )


@pytest.mark.parametrize(
    ("daemons", "said"),
    [({"datanodes": "a"}, "no role 'datanodes'"), ({"datanode": "{a}"}, "without braces")],
)
def test_daemons_that_cannot_be_queried(daemons: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        PrometheusOptions.model_validate({"url": "http://p", "daemons": daemons})


METERS = {"master.example:9290": 100.0, "worker-1:9290": 210.0, "database:9290": 900.0}
"""Of the IPMI exporter, which has a port of its own."""


def test_power_is_that_of_all_meters_of_the_hosts(web: PrometheusWeb, hosts_of: Make) -> None:
    web.meters = METERS
    made, _, _ = recorded(hosts_of(power="ipmi_watts"), 30)
    assert made.power_source == "metered: Prometheus, ipmi_watts, 2 hosts"
    watts = {sample.host: sample for sample in made.samples if sample.metric == "power"}
    assert {host: sample.value for host, sample in watts.items()} == {
        "master.example": 100.0,
        "worker-1.example": 210.0,
    }
    assert {sample.unit for sample in watts.values()} == {"W"}
    assert made.problems == ["power: no meter of 1 host: worker-2.example"]


def test_power_of_a_short_trial_is_refused(web: PrometheusWeb, hosts_of: Make) -> None:
    web.meters = METERS
    made, _, _ = recorded(hosts_of(power="ipmi_watts", power_interval="60 s"), 30)
    assert made.power_source is None
    assert "shorter than 10 intervals of the meters (60 s each)" in made.problems[0]
    assert not [sample for sample in made.samples if sample.metric == "power"]


@pytest.mark.parametrize("meters", [{}, {"database:9290": 900.0}])
def test_a_power_query_without_a_host_is_refused_before_the_start(
    web: PrometheusWeb, hosts_of: Make, meters: dict[str, float]
) -> None:
    web.meters = meters
    hosts = hosts_of(power="ipmi_watts")
    with pytest.raises(ClusterAccessError, match="no series of the query is a host"):
        hosts.caveats()
    made, _, _ = recorded(hosts, 30)
    assert made.problems == ["power: no series of the query is a host of the cluster"]
    assert len(made.samples) > 100, "the other samples are kept"


def test_a_host_that_is_not_scraped_during_a_trial_is_named(
    web: PrometheusWeb, hosts_of: Make
) -> None:
    hosts = hosts_of()
    hosts.caveats()
    web.silent = {"gateway:9100"}
    until = time.time() - 10  # longer ago than two intervals: there is nothing to wait for
    made = hosts.record(until - 20, until)
    assert made.problems == ["no samples of 1 host: worker-1.example"]
    assert {sample.host for sample in made.samples} == {"master.example", "worker-2.example"}


def test_a_server_that_does_not_answer_costs_samples_and_no_trial(url: str) -> None:
    given = PrometheusOptions.model_validate({"url": url})
    with RestClient() as client:
        hosts = PrometheusSamples(Prometheus(client, f"{url}/graph"), given, HOSTS, ADDRESSES)
        made, _, _ = recorded(hosts, 10)
    assert made.samples == []
    assert made.problems == ["Prometheus did not answer all queries (not found)"]
