import math

import pytest
import torch

from contrastive_dynamics.losses.activations import activation
from contrastive_dynamics.nonlinearity.one_filter.circle_landscape import (
    circle_grid,
    count_energy_maxima,
    count_maxima,
    energy,
    on_circle,
)
from contrastive_dynamics.nonlinearity.one_filter.rotation_augmentation import (
    augmentation_angles,
    augmented_activation,
    augmented_energy,
    orbit_variation,
    plane_generator,
    rotations,
)
from contrastive_dynamics.nonlinearity.one_filter.sphere_flow import uniform_on_sphere
from contrastive_dynamics.numerics.random_streams import stream

RELU = activation("relu")
ABOUT_AXIS_3 = plane_generator(*torch.eye(3, dtype=torch.float64)[:2])[None]


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_rotations_form_a_group():
    g = plane_generator(draw(3, 4), draw(3, 4, seed=1))
    t = torch.tensor([0.0, 0.4, 1.1, 1.5, 2 * math.pi], dtype=torch.float64)
    r = rotations(g, t)
    eye = torch.eye(4, dtype=torch.float64)
    assert torch.allclose(r[:, 1] @ r[:, 2], r[:, 3], atol=1e-13)
    assert torch.allclose(r[:, 0], eye) and torch.allclose(r[:, 4], eye.expand(3, -1, -1), atol=1e-12)
    assert torch.allclose(r @ r.mT, eye.expand_as(r), atol=1e-13)


def test_planar_generator_turns_by_the_angle():
    r = rotations(plane_generator(*torch.eye(2, dtype=torch.float64)), torch.tensor([0.3], dtype=torch.float64))
    x = on_circle(torch.tensor(0.5, dtype=torch.float64))
    assert torch.allclose(r[0] @ x, on_circle(torch.tensor(0.8, dtype=torch.float64)))


def test_activation_over_the_group_in_closed_form():
    # x0 = (x⊥, c): h averaged over the circle is (√(R² − c²) + c·arccos(−c/R))/π, R = ‖w⊥‖‖x⊥‖, c = w3·x3, |c| < R.
    x, w = draw(1, 6, 3), uniform_on_sphere([stream(0, k, "w") for k in range(4)], 3)[None]
    group = rotations(ABOUT_AXIS_3, augmentation_angles(2000, math.pi, x))
    radius = w[..., :2].norm(dim=-1)[..., None] * x[..., :2].norm(dim=-1)[:, None]
    c = w[..., 2:] * x[:, None, :, 2]
    inside = ((radius**2 - c**2).clamp(min=0).sqrt() + c * torch.arccos((-c / radius).clamp(-1, 1))) / math.pi
    exact = torch.where(c.abs() < radius, inside, c.clamp(min=0))
    assert torch.allclose(augmented_activation(w, x, group, RELU), exact, atol=1e-5)


def test_energy_is_flat_along_the_group_and_not_along_a_part_of_it():
    x, g = draw(3, 20, 3), plane_generator(draw(3, 3, seed=1), draw(3, 3, seed=2))
    w = uniform_on_sphere([stream(0, k, "w") for k in range(3)], 3)
    orbit = torch.einsum("rtij,rj->rti", rotations(g, torch.linspace(0, 6, 31, dtype=x.dtype)), w)

    def variation(count, half_width):
        group = rotations(g, augmentation_angles(count, half_width, x))
        return orbit_variation(augmented_energy(orbit, x, group, RELU)).max()

    assert variation(1024, math.pi) < 1e-4 and variation(1024, math.pi / 2) > 0.1
    assert variation(256, math.pi) > 4 * variation(1024, math.pi)  # what is left is the sum over t


def test_no_strict_maximum_is_left_on_the_circle():
    x = draw(5, 9, 2)
    g = plane_generator(*torch.eye(2, dtype=torch.float64)).expand(5, 2, 2)
    w = on_circle(circle_grid(360, x)).expand(5, -1, -1)
    whole = augmented_energy(w, x, rotations(g, augmentation_angles(360, math.pi, x)), RELU)
    assert count_maxima(whole, 4096.0).tolist() == [0] * 5
    tiny = augmented_energy(w, x, rotations(g, augmentation_angles(3, 1e-9, x)), RELU)
    assert torch.allclose(tiny, energy(w, x, RELU), atol=1e-8)
    assert torch.equal(count_maxima(tiny), count_energy_maxima(x, RELU, 360))


def test_a_filter_that_the_group_leaves_alone_can_stay_a_strict_maximum():
    x = draw(1, 20, 3)
    group = rotations(ABOUT_AXIS_3, augmentation_angles(256, math.pi, x))
    tilt = torch.tensor([0.0, 0.05, 0.1], dtype=torch.float64)
    meridian = torch.stack((tilt.sin(), 0 * tilt, tilt.cos()), -1)[None]
    e = augmented_energy(meridian, x, group, RELU)[0]
    assert e[0] > e[1] > e[2]


def test_a_run_is_the_same_alone():
    x, g, w = draw(3, 5, 3), plane_generator(draw(3, 3, seed=1), draw(3, 3, seed=2)), draw(3, 2, 3, seed=3)
    group = rotations(g, augmentation_angles(16, math.pi, x))
    assert torch.allclose(augmented_energy(w, x, group, RELU)[1], augmented_energy(w[1:2], x[1:2], group[1:2], RELU)[0])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: plane_generator(torch.ones(3), 2 * torch.ones(3)), "parallel vectors"),
        (lambda: augmentation_angles(4, 4.0, torch.zeros(1)), "half_width > 0 and ≤ π, got 4 and 4.0"),
    ],
)
def test_bad_input_is_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_energy_of_a_pairwise_importance():
    x, w = draw(2, 6, 3), draw(2, 4, 3, seed=1)
    group = rotations(ABOUT_AXIS_3, torch.linspace(0, 1, 5, dtype=torch.float64)).expand(2, -1, -1, -1)
    uniform = augmented_energy(w, x, group, RELU)
    assert torch.allclose(augmented_energy(w, x, group, RELU, torch.ones(2, 6, 6, dtype=torch.float64)), uniform)
    alpha, b = draw(2, 6, 6, seed=2), augmented_activation(w, x, group, RELU)
    pairs = sum(alpha[:, i, j, None] * (b[..., i] - b[..., j]) ** 2 for i in range(6) for j in range(6))
    assert torch.allclose(augmented_energy(w, x, group, RELU, alpha), pairs / (4 * 36))
