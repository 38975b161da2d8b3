"""The solutions of the exercises, which are numpy alone, against the library's kernels in float64. Needs no otter."""

import numpy as np
import pytest
import torch
from checkout import ROOT
from scipy.integrate import solve_ivp
from stage_one_end import stage_one_end

from clbook.classroom.exercises import exercise_source, read_source, run_code
from contrastive_dynamics import alignment_and_balance as balance_room
from contrastive_dynamics import collapse_and_constraints as collapse_room
from contrastive_dynamics import feature_decoupling as decoupling_room
from contrastive_dynamics import testbed
from contrastive_dynamics.data.half_moons import half_moon_law
from contrastive_dynamics.losses import activation, infonce_importance
from contrastive_dynamics.losses.activations import Activation
from contrastive_dynamics.nonlinearity import one_filter
from contrastive_dynamics.testbed.canonical_correlations import canonical_correlations, held_out_correlations
from contrastive_dynamics.testbed.independent_latents import latent_shares

RNG = np.random.default_rng(1)


@pytest.fixture(scope="module")
def names():
    """The names of a chapter's solutions."""
    made = {}
    return lambda chapter: made.setdefault(chapter, run_code(read_source(exercise_source(ROOT, chapter))[0]))


def tensor(x):
    return torch.as_tensor(np.asarray(x), dtype=torch.float64)


def close(ours, theirs, error=1e-9):
    assert np.allclose(np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float), rtol=error, atol=error)


def test_collapse_lengths_and_paths(names):
    solved = names("collapse-and-constraints")
    q0, lam = 0.4 * RNG.uniform(-1, 1, 3), np.array([-1.0, -0.2, 0.6])
    times = np.array([0.3, 1.0, 2.0])
    weight = 3  # the sheet's: in time (1 + w)t/2 it is a flow of the kernel
    kappa, clock = 4 * weight / (1 + weight), tensor(times) * (1 + weight) / 2
    paths = collapse_room.closed_form(tensor(q0)[None], tensor(lam), clock, kappa)[:, 0]
    close([solved["closed_form"](q0, lam, t) for t in times], paths, 1e-7)
    close(solved["length_at"](q0, lam, 0.8), collapse_room.squared_length(tensor(q0), tensor(lam), tensor(0.8), kappa))
    for lam_all in (-0.7, 0.0, 0.3):  # with the decay of the warm-up

        def move(_, q, lam_all=lam_all):
            return collapse_room.vector_velocity(tensor(q), tensor(np.full(3, lam_all))).numpy() - 0.5 * q

        path = solve_ivp(move, (0, 2), q0, t_eval=times, rtol=1e-11, atol=1e-13).y
        close(solved["length"](q0 @ q0, lam_all, times), (path**2).sum(0), 1e-8)


def test_collapse_steps_and_negatives(names):
    solved = names("collapse-and-constraints")
    for lam in ([-2.0, -0.5, 0.7, 1.5], [-0.5, 0.2, 1.0, 4.0], [0.5, 1.0, 2.0, 3.0]):
        close(solved["largest_step"](lam), collapse_room.largest_rate(tensor(lam)))
    mean, moment = half_moon_law()
    close(solved["half_moon_mean"], mean)
    close(solved["half_moon_moment"], moment)
    edge = solved["q_star"](solved["half_moon_mean"], solved["half_moon_covariance"], 1)
    matrix = collapse_room.expected_trace_matrix(mean, moment, 1, 1, 1) + (edge - 1) * torch.outer(mean, mean)
    close(torch.linalg.eigvalsh(matrix)[-1], 0)
    k, s, u = RNG.standard_normal((5, 5)), RNG.standard_normal((5, 5)), RNG.standard_normal((5, 2))
    k, s = k @ k.T, s + s.T
    close(solved["kernel_velocity"](u, k, s), collapse_room.constrained_velocity(tensor(u), tensor(k), tensor(s)))
    x, y = RNG.standard_normal((2, 50, 3))
    x, y, zero = x - x.mean(0), y - y.mean(0), torch.zeros(50, 1, 3, dtype=torch.float64)
    close(solved["shared_matrix"](x, y), collapse_room.trace_matrix(tensor(x), tensor(y)[:, None], zero) / 50)


def test_balance(names):
    solved = names("alignment-and-balance")
    kappa = RNG.uniform(0.3, 2, 4)
    close(solved["balance"](kappa), balance_room.balance(tensor(np.diag(kappa))))
    sigma, d = solved["sigma"], 1000
    start = balance_room.wide_start(tensor(sigma)[None], 0.7, d - 4)
    end = balance_room.non_contrastive_solution(start, tensor(sigma)[None], 0.7, tensor([np.inf]))
    close(solved["end_condition"](sigma, d), balance_room.wide_condition_number(end).flatten()[0], 1e-7)
    g = RNG.dirichlet(np.ones(3))
    missed, t = balance_room.negative_factors(tensor(g)[None], 2.3, 8.0)
    close(solved["missed"](g, 2.3, 8.0), missed[0])
    close(solved["push"](g, 2.3, 8.0), 1.5 * missed * (1 - t[0]))  # one side weighs half
    for k, r in ((8.0, 4), (127.0, 10)):
        close(solved["best_tau2"](k, r), balance_room.best_tau_squared(k, r), 1e-6)


def test_balance_rates(names):
    solved = names("alignment-and-balance")
    sigma, tau2, k = tensor(solved["sigma"])[None], 3.0, 8.0

    def velocity(square):
        state = balance_room.WideState(square, square, torch.zeros(1, dtype=torch.float64))
        return balance_room.wide_velocity(state, sigma, 0.0, tau2, k).kappa_squared / square

    lost = tensor([[1.0, 1.0, 1e-12, 1e-12]])
    close(solved["growth_of_missing"](1.0, 2, tau2, k), velocity(lost)[0, 3], 1e-6)
    near = tensor([[1.2, 0.9, 1.1, 0.8]])
    grows = solved["growing"](near[0].sqrt().numpy(), solved["sigma"], tau2)
    assert grows.tolist() == (velocity(near)[0] > 0).tolist()
    equal, step = torch.ones(1, 4, dtype=torch.float64), 1e-6
    columns = []
    for p in range(4):
        moved = equal + step * tensor(np.eye(4)[p])
        speed = (velocity(moved) - velocity(equal)) / step
        columns.append(speed[0] - speed[0].mean())  # of g = κ²/n², times n² = 4
    rates = np.sort(-np.linalg.eigvals(torch.stack(columns, 1).numpy()).real)
    close(solved["slowest_decay"](solved["sigma"], tau2, k), rates[1], 1e-4)


def test_nonlinearity(names):
    solved = names("nonlinearity")
    angles = tensor(solved["nine_angles"])
    close(angles / np.pi, one_filter.FIGURE_8_POINTS)
    points = one_filter.on_circle(angles)[None]
    for name, leak in (("relu", 0.0), ("linear", 1.0)):
        count = one_filter.count_energy_maxima(points, activation(name), 20_000)
        assert solved["hills"](solved["nine_angles"], leak) == int(count[0])
    basins = RNG.dirichlet(np.ones(6))
    close(solved["expected_finds"](basins, 5), one_filter.expected_finds(tensor(0.8 * basins), 5))  # a fifth is dead
    q, relu = np.array([0.1, 0.3, 0.6]), activation("relu")
    u = torch.eye(3, dtype=torch.float64)
    leaky = Activation("leaky", lambda x: torch.where(x > 0, x, 0.1 * x), lambda x: torch.where(x > 0, 1.0, 0.1).to(x))
    field = one_filter.population_field(*one_filter.latent_summation(u, tensor(q)), leaky)
    close(solved["pattern_rates"](q), one_filter.growth_rate(one_filter.flow_jacobian(field, u, step=1e-4)), 1e-5)
    sigma = torch.diag(tensor([1.0, 0.8]))[None, None]
    zero, one = torch.zeros(1, 1, 2, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
    field = one_filter.GaussianMixture(zero, sigma, one).matrix_field(relu)
    axes = torch.eye(2, dtype=torch.float64)
    found = [one_filter.growth_rate(one_filter.flow_jacobian(field, w[None], step=1e-4))[0] for w in axes]
    close(solved["axis_rates"](1.0, 0.8), found, 1e-5)
    lme = one_filter.eigen_check(field, axes[:1]).is_lme
    assert solved["is_lme"](1.0, 0.8) == bool(lme)
    f = RNG.standard_normal((6, 3))
    close(solved["mixed_alpha"](f, 0.4, 1.0), infonce_importance(tensor(f), tensor(f), 0.4))


def test_feature_decoupling(names):
    solved = names("feature-decoupling")
    m, p, noise = tensor(solved["flat_atoms"])[None], 0.05, 0.3
    model = decoupling_room.SparseCoding(m, p, noise)
    xx = (p * m[0] @ m[0].mT + noise**2 * torch.eye(64, dtype=torch.float64)).numpy()
    for kind, views in (("complement", "masked"), ("independent", "independent"), ("none", "plain")):
        close(solved["shared_moment"](xx, kind), decoupling_room.cross_moment(model, views)[0])
    close(solved["rates"](solved["flat_atoms"], p, noise**2 * np.eye(64)), decoupling_room.growth_rates(model, m)[0])
    clock = decoupling_room.decoupling_clock(2, 62, p, 30.0)  # two frequent atoms without the two rare ones
    with_rare = 1 / decoupling_room.logistic_share(clock) + np.exp(-p * 30)  # which grow at half the rate
    close(1 / solved["share"](30.0, 4, 64, p), with_rare)
    for views, masked in (("masked", True), ("plain", False)):
        flat = decoupling_room.flat_rates(4, 64, p, noise, views)
        close(solved["share_at_growth"](20.0, 4, 64, p, noise**2, masked), stage_one_end(4, 64, flat, 20.0)[1])
    half = np.log(solved["half_growth"](4, 64, p, noise**2) * 4) / (p + noise**2)  # frequent atoms hold half of W²
    close(solved["share"](half, 4, 64, p), 0.5, 1e-8)
    v, w = RNG.standard_normal((9, 64)), RNG.standard_normal(4)
    limit = decoupling_room.linear_limit(tensor(v)[None], m, p, noise, tensor(w)[None, None])
    close(solved["linear_r2"](v, solved["flat_atoms"], p, noise**2, w), limit[0, 0], 1e-8)


def test_one_testbed_shares_and_entries(names):
    solved = names("one-testbed")
    rho = RNG.uniform(0, 1, 7)
    for tau2 in (0.1, 1.0, 3.0, 9.0):
        close(solved["level"](rho, tau2), testbed.water_level(tensor(rho), tau2))
        close(solved["shares"](rho, tau2), testbed.water_filling(tensor(rho), tau2))
        held = solved["bounded_shares"](rho, tau2)  # what minimises the loss of the shares below their bound of 0.4
        slope = tau2 * held - rho
        assert abs(held.sum() - 1) < 1e-9 and held.min() >= 0 and held.max() <= 0.4
        assert slope[held > 0].max() <= slope[held < 0.4].min() + 1e-9  # nothing gained by moving share between two
        two = testbed.water_filling(tensor(rho), tau2, 3, tied=False)
        close(solved["unused"](rho, 3, tau2), 1 - two.sum())
        every = tensor(np.append(rho, np.zeros(20)))
        close(solved["private_share"](rho, 20, 15, tau2), testbed.water_filling(every, tau2, 15)[7:].sum())
    close(solved["effective_rank"](rho), testbed.effective_rank_of_shares(tensor(rho)))
    many = RNG.integers(1, 4, 7)  # a direction at the price 1/m is m directions at the price 1
    for j in range(7):
        edge, place = solved["entry"](rho, 1 / many, j), many[:j].sum()
        split = tensor(np.repeat(rho, many))
        at, above = (testbed.water_filling(split, max(edge + step, 1e-9))[place] for step in (-1e-6, 1e-6))
        assert above > 0 and (at == 0 or edge == 0), j
    tau2, h = solved["settle"](rho, 0.0, 0.3)
    close(tau2, testbed.learned_temperature(tensor(rho)), 0.02)
    close(h, rho, 0.02)
    decay = np.sort(rho)[3] + 0.03
    tau2, h = solved["settle"](rho, decay, 0.3)
    assert abs(testbed.water_level(tensor(rho), tau2) - decay) < 0.02  # a decay is the level at which it stops
    close(h, tau2 * testbed.water_filling(tensor(rho), tau2), 0.02)


def test_one_testbed_correlations_and_rare_features(names):
    solved = names("one-testbed")
    views = [RNG.standard_normal((500, d)) for d in (9, 4)]
    views[1] += 0.7 * views[0][:, :4]
    close(solved["correlations"](*views), canonical_correlations(tuple(map(tensor, views))), 1e-8)
    fit, new = ([v[part] for v in views] for part in (slice(250), slice(250, 500)))
    theirs = held_out_correlations(tuple(map(tensor, fit)), tuple(map(tensor, new)))
    close(solved["held_out"](fit, new), theirs, 1e-8)
    close(solved["noise_edge"](1000, 50, 20), testbed.noise_correlation(1000, 50, 20))
    rho = np.array([0.9, 0.5, 0.2])
    for law, p in (("signs", 1.0), ("sparse", 0.1)):
        close(solved["rare_temperature"](rho, p), latent_shares(tensor(rho), None, law)[1], 1e-8)
        for tau2 in (0.4, 1.0, 3.0):
            close(solved["rare_shares"](rho, tau2, p), latent_shares(tensor(rho), tau2, law)[0], 1e-8)
