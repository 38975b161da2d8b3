"""The environment of a result is recorded: versions, device, arithmetic, memory."""

from clbook.common import environment


def test_what_made_a_result_is_said():
    found = environment.versions()
    assert {"python", "torch", "numpy", "scipy"} <= found.keys() and found["python"].startswith("3.")
    assert environment.device_name("cpu").endswith("cores") and environment.peak_megabytes("cpu") > 1
    made = environment.arithmetic()
    assert made["capability"] and made["blas"] and made["threads"] >= 1
