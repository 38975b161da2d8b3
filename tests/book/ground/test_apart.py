"""A call in a process of its own."""

import os
import time

import pytest

from contrastive_dynamics.book.ground import apart


def test_a_fresh_process_gives_what_the_call_gives_raises_what_it_raises_and_can_be_given_up():
    assert apart.apart(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        apart.apart(divmod, 7, 0)
    with pytest.raises(apart.TookTooLong):
        apart.apart(time.sleep, 60, seconds=0.2)
    with pytest.raises(EOFError):
        apart.apart(os._exit, 9)
