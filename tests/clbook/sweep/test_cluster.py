"""The pool of workers of a sweep: where it listens, which GPUs and places it has, what it says when it cannot begin."""

import os
from types import SimpleNamespace

import distributed
import pytest

from clbook.common.errors import BookError
from clbook.sweep import cluster
from clbook.sweep.cluster import _why, open_pool


def listening() -> set[tuple[str, int]]:
    """The addresses and ports at which this process and its descendants listen."""
    psutil = pytest.importorskip("psutil")
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    opened = [one for process in processes for one in process.net_connections("inet")]
    return {(one.laddr.ip, one.laddr.port) for one in opened if one.status == psutil.CONN_LISTEN}


def test_a_cluster_of_this_machine_listens_on_the_loopback_alone():
    before = listening()  # of other tests in this process
    with cluster.open_pool(jobs=1) as pool:
        pool.client.wait_for_workers(1)
        assert {ip for ip, _ in listening() - before} == {"127.0.0.1"}
        assert pool.client.dashboard_link.startswith("http://127.0.0.1:")


def test_a_scheduler_with_tls_is_one_line_where_tls_is_not_set_up():
    with pytest.raises(BookError, match="--scheduler tls://127.0.0.1:9: TLS is not set up here, which the page on"):
        with open_pool(scheduler="tls://127.0.0.1:9"):
            pass


def test_a_worker_without_this_environment_is_not_said_to_be_lost():
    assert _why(ModuleNotFoundError("No module named 'contrastive_dynamics'")) == (
        "the worker could not begin (ModuleNotFoundError: No module named 'contrastive_dynamics'); "
        "does it have this environment?"
    )
    assert _why(distributed.KilledWorker("a", SimpleNamespace(address="b"), 3)).startswith("the worker was lost: ")


def test_workers_share_the_gpus_that_this_machine_may_use(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert cluster.gpus() == ["0", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,5")  # as Slurm sets it
    assert cluster.gpus() == ["2", "5"]
    for worker, card in ((0, "2"), (1, "5"), (2, "2")):
        cluster._one_gpu_per_worker(["2", "5"]).setup(SimpleNamespace(name=worker))
        assert os.environ["CUDA_VISIBLE_DEVICES"] == card


def test_a_pool_has_as_many_places_as_threads_and_as_what_a_point_needs_allow():
    workers = {"a": {"nthreads": 2, "resources": {}}, "b": {"nthreads": 3, "resources": {"GPU": 1.0}}}
    client = SimpleNamespace(scheduler_info=lambda n_workers: {"workers": workers})
    pool = cluster.Pool.__new__(cluster.Pool)
    pool.client, pool.resources = client, {}
    assert (pool.places(), pool.room()) == (5, 10)
    pool.resources = {"GPU": 1}
    assert (pool.places(), pool.room()) == (1, 2)


def test_a_scheduler_that_does_not_answer_is_one_line_with_advice(monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 1)
    with pytest.raises(BookError, match=r"--scheduler tcp://127.0.0.1:9: no answer within .*is it running") as error:
        with open_pool(scheduler="tcp://127.0.0.1:9"):
            pass
    assert "\n" not in str(error.value)
    for address in ("nonsense://x", "127.0.0.1:notaport"):
        with pytest.raises(BookError, match="--scheduler .*is the address right"), open_pool(scheduler=address):
            pass
    with pytest.raises(BookError, match="--jobs 2: the scheduler at .* has its own workers"):
        with open_pool(jobs=2, scheduler="tcp://127.0.0.1:9"):
            pass
    with pytest.raises(BookError, match="--jobs: must be ≥ 1, got 0"), open_pool(jobs=0):
        pass
