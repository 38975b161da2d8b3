"""What a result was made on is said: versions, device, arithmetic, memory."""

from contrastive_dynamics.book import provenance


def test_what_made_a_result_is_said():
    found = provenance.versions()
    assert {"python", "torch", "numpy", "scipy"} <= found.keys() and found["python"].startswith("3.")
    assert provenance.device_name("cpu").endswith("cores") and provenance.peak_megabytes("cpu") > 1
    made = provenance.arithmetic()
    assert made["capability"] and made["threads"] >= 1
