"""Which of the slow tests run with a commit: some of their files and classes, drawn so that each gets its turn."""

from collections.abc import Iterable

from clbook.common.samples import sample

SHARE = 0.2
SECONDS = 20.0  # of a file, or of a class in one, that is not named below
# Seconds on a free core, roughly: their sum over a sample is what counts.
LONG = {
    "test_animated_runs": 60,
    "test_appendix": 75,
    "test_bad_inputs": 40,
    "test_broken_kernels": 110,
    "test_class_day": 150,
    "test_colab_cell": 90,
    "test_compiling_processes": 30,
    "test_devices": 120,
    "test_fused_bits": 90,
    "test_gpu_runs": 150,
    "test_hard_machines": 80,
    "test_interrupted_runs": 100,
    "test_partial": 120,
    "test_reach": 70,
    "test_rerun_commands": 45,
    "test_same_bits": 55,
    "test_slides": 45,
    "test_sweep_processes": 100,
    "test_sweep_scripts": 60,
    "test_whole_pages": 65,
}


def scope(nodeid: str) -> str:
    """`file` of a test, or `file::Class`: what one worker runs, with the fixtures that its tests share."""
    path, _, inside = nodeid.partition("[")[0].partition("::")
    return "::".join([path.rpartition("/")[2].removesuffix(".py"), *inside.split("::")[:-1]])


def drawn(nodeids: Iterable[str], by: str) -> set[str]:
    """The tests whose scopes the text `by` selects, until they take SHARE of the seconds of all."""
    scopes = {nodeid: scope(nodeid) for nodeid in nodeids}
    seconds = {name: LONG.get(name.partition("::")[0], SECONDS) for name in scopes.values()}
    chosen = sample(seconds, SHARE * sum(seconds.values()), f"{by} deep")
    return {nodeid for nodeid, name in scopes.items() if name in chosen}
