"""Work on all cores: the same results in the same order, and a bounded number of items at a time."""

import threading

import pytest

from kernelease.machine import cores, spread


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_come_in_the_items_order(threads: int) -> None:
    gate = threading.Event()

    def work(item: int) -> int:
        if item == 0 and threads > 1:
            assert gate.wait(300)  # the first is the last to be done
        if item == threads - 1:
            gate.set()
        return item * item

    assert list(spread(work, range(50), threads)) == [item * item for item in range(50)]


def test_no_more_than_two_items_per_thread_wait() -> None:
    taken: list[int] = []

    def items():  # type: ignore[no-untyped-def]
        for item in range(100):
            taken.append(item)
            yield item

    results = spread(str, items(), 2)
    next(results)
    assert len(taken) == 5
    results.close()  # type: ignore[attr-defined]


def test_an_exception_comes_out_where_its_result_would_have() -> None:
    results = spread(lambda item: 1 // item, [1, 1, 0, 1], 2)
    assert [next(results), next(results)] == [1, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_there_is_a_core() -> None:
    assert cores() >= 1
