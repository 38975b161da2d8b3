// Arithmetic of the live picture "arrows": r signals and noise of two infinitely wide linear encoders, 2r + 1 numbers.
//
// k_p and h_p are the squared norm of signal column p and the inner product of its two copies, v the squared norm of all noise
// columns. With u_p = k_p + h_p, w_p = k_p - h_p, n2 = sum k + v, g_p = h_p / n2, T_p = tanh(tau2 g_p), c = 2(1 - S), time s = t/d
// and q = 2 d c / n2, the flow (8) with noise (ren-li-2023, Lemma A.7) is
//   (ln u_p)' = q sigma_p^2 (L - T_p),   (ln w_p)' = -q sigma_p^2 (1 - T_p + a),   (ln v)' = -q noise^2 a,
// where a = 1 - L and L = (sum w + v) / n2 + sum g_q T_q, which does not cancel where everything is aligned. Without negative
// pairs, flow (6): T = 0, c = 1. Start: k_p = sigma_p^2, h_p = 0, v = (d - r) noise^2. The sum of k_p / sigma_p^2 and
// v / noise^2 stays d. Runge-Kutta of order four in the logarithms, so that nothing changes its sign.
//
// No DOM: the tests run this file alone and hold it to arrows.vectors.json, which the library's kernels wrote.
(function (root) {
  "use strict";
  const DECADE = 88, FRAMES = 4 * DECADE + 2; // 88 a decade: 3 is one of the times
  const TIMES = Array.from({ length: FRAMES }, (_, k) => (k ? +(0.01 * 10 ** ((k - 1) / DECADE)).toPrecision(3) : 0));
  const LONGEST = 0.1, LEAST = 3; // a step of the flow, and steps from one time to the next
  const LEVEL = 1.05, MOVES = 0.0005; // the condition number of balance, and a change that is seen
  const PLAIN = { sigma: [2, 1.6, 1.3, 1], noise: 0.8, dim: 1000, negatives: 8 };
  const NEVER = Infinity;

  // The signals with another ratio of the strongest to the weakest; 2 gives those of the chapter.
  const spread = (ratio) => PLAIN.sigma.map((sigma) => sigma ** Math.log2(ratio));

  // [ln u_1 .. ln u_r, ln w_1 .. ln w_r, ln v] of random wide encoders.
  function begin({ sigma, noise, dim }) {
    const square = sigma.map((one) => Math.log(one * one));
    return Float64Array.from([...square, ...square, Math.log((dim - sigma.length) * noise * noise)]);
  }

  const logCosh = (x) => x + Math.log1p(Math.exp(-2 * x)) - Math.LN2; // x >= 0

  // What drives a state: n2, L, q and T_p, with tau2 = null where there are no negative pairs.
  function drive(y, { sigma, dim, negatives }, tau2) {
    const r = sigma.length, T = new Array(r), v = Math.exp(y[2 * r]);
    let n2 = v, open = v, gained = 0, odds = Math.log(negatives);
    for (let p = 0; p < r; p++) {
      const u = Math.exp(y[p]), w = Math.exp(y[r + p]);
      n2 += (u + w) / 2;
      open += w;
      T[p] = (u - w) / 2; // h_p so far
    }
    for (let p = 0; p < r; p++) {
      const g = T[p] / n2;
      T[p] = tau2 === null ? 0 : Math.tanh(tau2 * g);
      gained += g * T[p];
      if (tau2 !== null) odds += logCosh(tau2 * Math.abs(g)) - tau2 * g;
    }
    const c = tau2 === null ? 1 : 2 / (1 + Math.exp(-odds));
    return { n2, L: open / n2 + gained, T, q: (2 * dim * c) / n2 };
  }

  function velocity(y, settings, tau2, out) {
    const { L, T, q } = drive(y, settings, tau2), { sigma, noise } = settings, r = sigma.length;
    for (let p = 0; p < r; p++) {
      const pace = q * sigma[p] * sigma[p];
      out[p] = pace * (L - T[p]);
      out[r + p] = -pace * (2 - L - T[p]);
    }
    out[2 * r] = -q * noise * noise * (1 - L);
    return out;
  }

  // Moves a state on by a length of time, in place, in equal steps.
  function advance(y, settings, tau2, length, longest = LONGEST) {
    const steps = Math.max(LEAST, Math.ceil(length / longest)), h = length / steps, n = y.length;
    const slopes = [0, 1, 2, 3].map(() => new Float64Array(n)), at = new Float64Array(n);
    for (let k = 0; k < steps; k++) {
      velocity(y, settings, tau2, slopes[0]);
      [0.5, 0.5, 1].forEach((part, j) => {
        for (let i = 0; i < n; i++) at[i] = y[i] + part * h * slopes[j][i];
        velocity(at, settings, tau2, slopes[j + 1]);
      });
      for (let i = 0; i < n; i++) y[i] += (h / 6) * (slopes[0][i] + 2 * slopes[1][i] + 2 * slopes[2][i] + slopes[3][i]);
    }
    return y;
  }

  // What is seen of a state: shares k_p / n2 and v / n2 of the output, h_p / k_p, condition number, balance (sum of k^2 over the
  // largest, of r), the pull q sigma_p^2 L and the push q sigma_p^2 T_p, and by how much sum k / sigma^2 + v / noise^2 is off d.
  function look(y, settings, tau2) {
    const { sigma, noise, dim } = settings, r = sigma.length, { n2, L, T, q } = drive(y, settings, tau2);
    const u = Array.from(y.subarray(0, r), Math.exp), w = Array.from(y.subarray(r, 2 * r), Math.exp), v = Math.exp(y[2 * r]);
    const k = u.map((one, p) => (one + w[p]) / 2), most = Math.max(...k);
    const kept = k.reduce((sum, one, p) => sum + one / sigma[p] ** 2, v / noise ** 2);
    return {
      shares: k.map((one) => one / n2),
      noise: v / n2,
      agree: u.map((one, p) => (one - w[p]) / (one + w[p])),
      condition: Math.sqrt(most / Math.min(...k)),
      balance: k.reduce((sum, one) => sum + (one / most) ** 2, 0),
      pull: sigma.map((one) => q * one * one * L),
      push: sigma.map((one, p) => q * one * one * T[p]),
      off: Math.abs(kept / dim - 1),
    };
  }

  // What is seen at TIMES, with negative pairs from frame `on` to frame `off`.
  function film({ tau2 = 2, on = NEVER, off = NEVER, longest, ...others } = {}) {
    const settings = { ...PLAIN, ...others }, y = begin(settings);
    const tauAt = (k) => (k >= on && k < off ? tau2 : null);
    return TIMES.map((time, k) => look(k ? advance(y, settings, tauAt(k - 1), time - TIMES[k - 1], longest) : y, settings, tauAt(k)));
  }

  // The time from which the condition number stays at most LEVEL; between frames by a straight line of the logarithm of what
  // it has above 1, which falls exponentially. Infinity if it is above LEVEL at the last.
  function balancedAt(shots) {
    const last = shots.findLastIndex((shot) => shot.condition > LEVEL), next = shots[last + 1];
    if (last < 0) return 0;
    if (!next) return Infinity;
    const [above, below] = [shots[last], next].map(({ condition }) => Math.log((condition - 1) / (LEVEL - 1)));
    const part = above / (above - below);
    return TIMES[last] + part * (TIMES[last + 1] - TIMES[last]);
  }

  // The frame from which nothing is seen to move.
  function restsAt(shots) {
    const numbers = ({ shares, noise, agree }) => [...shares, noise, ...agree], end = numbers(shots[shots.length - 1]);
    return shots.findLastIndex((shot) => numbers(shot).some((one, k) => Math.abs(one - end[k]) > MOVES)) + 1;
  }

  // The frame nearest to a time.
  const frameOf = (time) => TIMES.reduce((best, one, k) => (Math.abs(one - time) < Math.abs(TIMES[best] - time) ? k : best), 0);

  root.explorables = root.explorables || {};
  root.explorables.arrowsMath = { TIMES, PLAIN, NEVER, spread, begin, advance, look, film, balancedAt, restsAt, frameOf };
})(typeof globalThis === "undefined" ? this : globalThis);
