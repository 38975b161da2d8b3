"""Jobs at the same time: results in order, and the first failure or Ctrl-C ends the others."""

import signal
import threading
import time

import pytest

from clbook.commands.side_by_side import Stopped, side_by_side


def until_stopped(ended: list) -> object:
    """A job that runs until it is told to stop, and notes that it has ended."""

    def job(stop):
        assert stop.wait(10)
        ended.append(threading.get_ident())
        raise Stopped

    return job


def test_results_come_in_the_order_of_the_jobs_which_meet_each_other():
    both = threading.Barrier(2, timeout=10)

    def job(number):
        def run(stop):
            both.wait()  # alone it would wait in vain
            time.sleep(0.1 * (2 - number))
            return number

        return run

    assert side_by_side([job(0), job(1)], at_once=2) == [0, 1]


@pytest.mark.parametrize("jobs", [0, 1, 3])
def test_one_at_a_time_all_run_in_the_calling_thread(jobs):
    assert side_by_side([lambda stop: threading.get_ident()] * jobs, at_once=1) == [threading.get_ident()] * jobs


@pytest.mark.parametrize("first", [0, 1])
def test_a_failure_stops_the_other_job_and_is_raised(first):
    ended = []

    def fail(stop):
        time.sleep(0.1)
        raise ZeroDivisionError

    jobs = [fail, until_stopped(ended)]
    with pytest.raises(ZeroDivisionError):
        side_by_side(jobs if first == 0 else jobs[::-1], at_once=2)
    assert len(ended) == 1


def test_a_job_that_waits_for_a_core_does_not_begin_after_a_failure():
    begun = []

    def fail(stop):
        time.sleep(0.1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        side_by_side([fail, until_stopped([]), lambda stop: begun.append(1)], at_once=2)
    assert begun == []


def test_an_interrupt_ends_all_jobs_before_it_is_raised():
    ended, before = [], signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    interrupt = threading.Timer(0.3, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    interrupt.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            side_by_side([until_stopped(ended), until_stopped(ended)], at_once=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(set(ended)) == 2
