// Arithmetic of the live picture "overgrown": training without a mask, followed by two numbers. W'W = s M M' + n (I - M M') at
// every step, so S = D s and N = (DIM - D) n are the squared lengths of all neurons inside and outside of the atoms' span.
//
// A direction v grows at E sum_s l_s <v, x><v, x - x_s>. With R = sum_s l_s = 1 / (1 + e^lead) and u = <M_j, x>, of the law
// (1 - P) N(0, s2) + P N(+-1, s2), and with as many negatives as make a mean of their sum,
//   s <- (1 + A - decay)^2 s,  A = E R u (u - t(u)),      n <- (1 + B - decay)^2 n,  B = s2 (1 - n s2 / TAU) E R,
//   q(u) = E exp(s u u' / TAU) = exp(a^2 s2 / 2) (1 - P + P cosh a),  a = s u / TAU,  t(u) = a s2 + P sinh a / (1 - P + P cosh a),
//   lead = sum_j [s u_j^2 / TAU - log q(u_j)] + |xi|^2 (n / TAU - n^2 s2 / 2 TAU^2) - log NEGATIVES.
// Of the atoms one stands with its own u, the others with their means given how many of them are present; |xi|^2 with its mean.
// At the start A and B are the rates of the first stage, N / (N + 1) times P + s2 and s2. Normal laws are sums over EDGES
// equidistant places, as exact as any rule for a smooth function; more than MOST other atoms are never present at once.
//
// No DOM: the tests run this file alone and hold it to overgrown.vectors.json, which the book's Python wrote.
(function (root) {
  "use strict";
  const D = 16, DIM = 128, P = (0.5 * Math.log(Math.log(D))) / D, NEGATIVES = 256, TAU = 20, START = 64 * 0.05 ** 2, LAST = 400;
  const STEP = 0.8, EDGE = 4.8, MOST = 6;
  const places = Array.from({ length: Math.round((2 * EDGE) / STEP) + 1 }, (_, k) => -EDGE + STEP * k);
  const total = places.reduce((sum, x) => sum + Math.exp((-x * x) / 2), 0), weights = places.map((x) => Math.exp((-x * x) / 2) / total);
  const variance = ({ noise }) => P * noise;

  const often = []; // how often k of the other atoms are present
  for (let k = 0, ways = 1; k <= MOST; ways = (ways * (D - 1 - k)) / (k + 1), k++) often.push(ways * P ** k * (1 - P) ** (D - 1 - k));

  // One atom of x: u, how likely it is, and whether the atom is present. The law of u is even, and so is all below: of the
  // places of an absent atom half are enough.
  function atomOf(s2) {
    const nodes = [];
    places.forEach((x, k) => {
      if (x > -1e-9) nodes.push({ u: Math.sqrt(s2) * x, law: weights[k] * (x > 1e-9 ? 2 : 1), chance: 1 - P });
      nodes.push({ u: 1 + Math.sqrt(s2) * x, law: weights[k], chance: P });
    });
    return nodes;
  }

  // A, B and the loss over its first value, at the squared lengths s and n of one direction.
  function rates(nodes, s2, s, n) {
    const means = [0, 0]; // of log q over an absent and a present atom
    const tilted = nodes.map(({ u, law, chance }) => {
      const a = (s * u) / TAU, mixed = 1 - P + P * Math.cosh(a), log = (a * a * s2) / 2 + Math.log(mixed);
      means[chance === P ? 1 : 0] += law * log;
      return { own: (s * u * u) / TAU - log, pull: u * (u - a * s2 - (P * Math.sinh(a)) / mixed) };
    });
    const spread = (n * s2) / TAU, common = (DIM - D) * (spread - (spread * spread) / 2) - Math.log(NEGATIVES);
    const others = often.map((_, k) => k * ((s * (1 + s2)) / TAU - means[1]) + (D - 1 - k) * ((s * s2) / TAU - means[0]));
    let along = 0, left = 0, loss = 0;
    nodes.forEach(({ law, chance }, i) => {
      often.forEach((share, k) => {
        const lead = tilted[i].own + others[k] + common, odds = Math.exp(-lead), weight = law * chance * share, told = odds > 1e300 ? 1 : odds / (1 + odds);
        along += weight * told * tilted[i].pull;
        left += weight * told;
        loss += weight * (odds > 1e300 ? -lead : Math.log1p(odds));
      });
    });
    return { along, dense: s2 * (1 - spread) * left, loss: loss / Math.log(1 + NEGATIVES) };
  }

  // Before each step up to LAST: S, N, the loss, and the share S / (S + N).
  function course({ noise, decay }) {
    const s2 = variance({ noise }), nodes = atomOf(s2), found = { signal: [], noise: [], loss: [], share: [] };
    let s = START / DIM, n = START / DIM;
    for (let step = 0; step <= LAST; step++) {
      const { along, dense, loss } = rates(nodes, s2, s, n), inside = D * s, outside = (DIM - D) * n;
      found.signal.push(inside);
      found.noise.push(outside);
      found.loss.push(loss);
      found.share.push(inside / (inside + outside));
      s *= (1 + along - decay) ** 2;
      n *= (1 + dense - decay) ** 2;
    }
    return found;
  }

  // Growth along atoms and along the rest before training.
  function first({ noise }) {
    const s2 = variance({ noise }), { along, dense } = rates(atomOf(s2), s2, START / DIM, START / DIM);
    return { signal: along, rest: dense };
  }

  const overgrownMath = { D, DIM, P, NEGATIVES, TAU, START, LAST, course, first };
  root.explorables = Object.assign(root.explorables || {}, { overgrownMath });
})(typeof globalThis === "undefined" ? this : globalThis);
