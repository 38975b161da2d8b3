// Arithmetic of the live picture "masks": what two views of x = M z + xi have in common, and a neuron that learns it.
//
// M has D flat atoms, |M_ij| = 1 / sqrt(DIM), Walsh functions in the order that makes M M' blocks of ones times D / DIM; other
// signs or another order of the coordinates change no number below. Pr(z_j != 0) = P, xi is white with variance s2 = P noise.
// A view is twice what its mask lets through; each mask passes a coordinate with probability 1/2, and what the first passes the
// second passes with probability `both`: 0 disjoint, 1/2 independent, 1 the same. With S = P M M' + s2 I,
//   C = E[x+ x++'] = S + (2 both - 1) diag S:  off the diagonal S whatever the masks, on it 2 both (P D / DIM + s2).
// Without masks C = S, as at 1/2. While the weights are small the softmax is flat, and the population gradient of a linear neuron
// is -N / (N + 1) C w (wen-li-2021, Lemmas C.2, F.1; the negatives have mean 0 and are independent of x+). In time units of
// (N + 1) / N the flow is w' = C w, so that with Q = M M'
//   w(t) = exp(a t) Q w(0) + exp(b t) (I - Q) w(0),  b = s2 + (2 both - 1)(P D / DIM + s2),  a = b + P:
// signals outgrow the rest by exp(P t) under any masks. The stage ends when w is LONG times as long as at the start.
//
// No DOM: the tests run this file alone and hold it to masks.vectors.json, which the library's kernels wrote.
(function (root) {
  "use strict";
  const DIM = 32, D = 4, BLOCK = DIM / D, P = 0.04, LONG = 20, START = D / DIM; // START: share of signal in a random direction
  const START_SEED = 1000033, NOISE_SEED = 1000012, MASK_SEED = 1000003;
  const coordinates = Array.from({ length: DIM }, (_, i) => i);
  const block = (i) => Math.floor(i / BLOCK);
  const variance = ({ noise }) => P * noise;
  const norm = (v) => Math.hypot(...v), scaled = (v, by) => v.map((one) => one * by);

  // M_ij, by the bits that a block and an atom have in common.
  const atom = (i, j) => [1, -1, -1, 1][block(i) & j] / Math.sqrt(DIM);

  // (M M')_ik
  const shared = (i, k) => (block(i) === block(k) ? D / DIM : 0);

  // Q v, the part of a vector in the span of the atoms: means over blocks.
  function project(v) {
    const sums = new Array(D).fill(0);
    v.forEach((one, i) => (sums[block(i)] += one / BLOCK));
    return v.map((_, i) => sums[block(i)]);
  }

  // C_ik, what signal and noise put there.
  function moment(settings, i, k) {
    const passed = i === k ? 2 * settings.both : 1;
    return { signal: passed * P * shared(i, k), noise: i === k ? passed * variance(settings) : 0 };
  }

  // a and b: how fast a neuron grows along the atoms and along everything else.
  function rates(settings) {
    const s2 = variance(settings), rest = s2 + (2 * settings.both - 1) * (P * START + s2);
    return { signal: rest + P, rest };
  }

  // DIM draws of a uniform law, Lehmer's; the still picture has the same.
  function uniforms(seed) {
    return coordinates.map(() => (seed = (16807 * seed) % 2147483647) / 2147483647);
  }

  // DIM draws of a normal law, Box and Muller's.
  function normals(seed) {
    const angles = uniforms(seed + 1);
    return uniforms(seed).map((u, i) => Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * angles[i]));
  }

  // The neuron at the start, of length 1, as {signal, rest}: its share of signal is the mean over random directions.
  const begin = (() => {
    const drawn = normals(START_SEED), signal = project(drawn), rest = drawn.map((one, i) => one - signal[i]);
    return { signal: scaled(signal, Math.sqrt(START) / norm(signal)), rest: scaled(rest, Math.sqrt(1 - START) / norm(rest)) };
  })();

  // Length of the neuron at a time, and its share of signal, |Qw|^2 / |w|^2.
  function size(settings, time) {
    const odds = (START / (1 - START)) * Math.exp(2 * P * time), length = Math.exp(rates(settings).rest * time) * Math.sqrt((1 - START) * (1 + odds));
    return { length, share: odds / (1 + odds) };
  }

  // The neuron at a time: Qw and (I - Q)w.
  function weights(settings, time) {
    const { signal, rest } = rates(settings);
    return { signal: scaled(begin.signal, Math.exp(signal * time)), rest: scaled(begin.rest, Math.exp(rest * time)) };
  }

  // The time at which the neuron is LONG. ln |w|^2 is convex in time, so Newton's steps from where the signals alone are LONG
  // go down to it and stop there.
  function grownAt(settings) {
    const { signal, rest } = rates(settings);
    let time = Math.log((LONG * LONG) / START) / (2 * signal);
    for (let k = 0; k < 100; k++) {
      const { length, share } = size(settings, time), step = Math.log(length / LONG) / (share * signal + (1 - share) * rest);
      time -= step;
      if (step <= 1e-14 * time) break;
    }
    return time;
  }

  // Length and share when the stage ends.
  const grown = (settings) => size(settings, grownAt(settings));

  // One datum, z = (0, 1, 0, 0): what its active signal and its noise put at each coordinate.
  function datum(settings) {
    return { signal: coordinates.map((i) => atom(i, 1)), noise: scaled(normals(NOISE_SEED), Math.sqrt(variance(settings))) };
  }

  // A draw of both masks, true where a coordinate passes: half of them, one of each pair of a random order. As `both` grows,
  // pairs are treated alike by both masks one after the other.
  const chances = uniforms(MASK_SEED), order = [...coordinates].sort((i, k) => chances[i] - chances[k]);
  function masks({ both }) {
    const first = [], second = [];
    order.forEach((i, rank) => {
      first[i] = rank % 2 === 0;
      second[i] = (Math.floor(rank / 2) + 0.5) / (DIM / 2) < both ? first[i] : !first[i];
    });
    return { first, second };
  }

  root.explorables = root.explorables || {};
  root.explorables.masksMath = { DIM, D, BLOCK, P, LONG, START, atom, shared, project, moment, rates, begin, size, weights, grownAt, grown, datum, masks };
})(typeof globalThis === "undefined" ? this : globalThis);
