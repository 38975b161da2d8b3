// Arithmetic of the live picture "vessel": the shares that the law gives to directions of correlation rho, and a linear network
// that learns them.
//
// One encoder f = U x of whitened views with C = E[x x+'] = diag(rho), |U|_F = 1, G = U'U; tau multiplies the inner products.
// InfoNCE with many negatives and Gaussian views is L = |tau G - C|^2 - |C|^2 up to a constant (soft_threshold.population_loss).
// Its optimum has the shares g_j = (rho_j - level)_+ / tau of sum 1 over the z largest rho. Where log tau is trained, too, tau
// ends at the sum of the positive rho, and level at 0. The flow -dL/dU on the sphere is 4 tau U (C - tau G), less its radial part,
// and -dL/d log tau = 2 tau <C - tau G, G>; a step of time RATE / (4 tau (1 + tau)) keeps it stable.
//
// That loss is for infinitely many negatives. `sampledStep` has the loss itself, of both sides, over pairs that are drawn at every
// step, by inner products or by distances, -(tau/2)|f - f'|^2, whose optimum is `distanceFilling` (distance_law.distance_filling).
//
// No DOM: the tests run this file alone and hold it to vessel.vectors.json, which the library's kernels wrote.
(function (root) {
  "use strict";
  const RATE = 0.25;
  const sum = (v) => v.reduce((a, b) => a + b, 0);

  // The correlations of a scene: the strengths of the shared features, and `priv` private ones of correlation `coupled`.
  function spectrum({ shared, priv, coupled }) {
    return [...shared, ...new Array(priv).fill(coupled)];
  }

  // Positions of the z largest, of equal ones the first.
  const largest = (rho, z) => rho.map((r, j) => [r, j]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, z).map(([, j]) => j);

  // {level, shares}: the largest (rho_1 + ... + rho_k - tau) / k over k <= z, and (rho - level)_+ / tau.
  function waterFilling(rho, tau, z = rho.length) {
    const kept = largest(rho, z);
    let total = 0, level = -Infinity;
    kept.forEach((j, k) => {
      total += rho[j];
      level = Math.max(level, (total - tau) / (k + 1));
    });
    const shares = new Array(rho.length).fill(0);
    kept.forEach((j) => (shares[j] = Math.max(rho[j] - level, 0) / tau));
    return { level, shares };
  }

  // The same for squared distances: v_j = tau g_j with u + u^2 = 2 (1 - rho_j + level), u = 1 / (1 + v_j), where rho_j > level.
  const filled = (above) => (above > 0 ? 2 / (Math.sqrt(9 - 8 * above) - 1) - 1 : 0);

  function distanceFilling(rho, tau, z = rho.length) {
    const kept = largest(rho, z), top = rho[kept[0]];
    let [low, high] = [top - 1, top]; // at a level of top - 1 the first takes all there is
    for (let k = 0; k < 100; k++) {
      const level = (low + high) / 2;
      if (sum(kept.map((j) => filled(rho[j] - level))) > tau) low = level;
      else high = level;
    }
    const shares = new Array(rho.length).fill(0);
    kept.forEach((j) => (shares[j] = filled(rho[j] - high) / tau));
    return { level: high, shares };
  }

  // Where tau settles if distances learn it.
  const learnedDistanceTau = (rho, z = rho.length) => sum(largest(rho, z).map((j) => filled(rho[j])));

  // Where a learned tau settles.
  const learnedTau = (rho, z = rho.length) => sum(largest(rho, z).map((j) => Math.max(rho[j], 0)));

  // exp of the entropy of shares of sum 1.
  const rank = (shares) => Math.exp(-sum(shares.map((g) => (g > 0 ? g * Math.log(g) : 0))));

  // z x D normal numbers of sum of squares 1, from Lehmer's uniforms by Box and Muller.
  const begin = (z, D, seed) => normalised(table(z, D, normals(seed)));

  const table = (rows, columns, draw) => Array.from({ length: rows }, () => Array.from({ length: columns }, draw));

  function normals(seed) {
    let state = (1000003 * seed) % 2147483647;
    const uniform = () => (state = (16807 * state) % 2147483647) / 2147483647;
    for (let k = 0; k < 8; k++) uniform(); // the first depend on the seed almost linearly
    return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  }

  function normalised(u) {
    const length = Math.sqrt(sum(u.map((row) => sum(row.map((x) => x * x)))));
    return u.map((row) => row.map((x) => x / length));
  }

  // Weights with a thousandth of another start in them, by squares.
  function kicked(u, seed) {
    const other = begin(u.length, u[0].length, seed + 1);
    return normalised(u.map((row, i) => row.map((x, k) => x + Math.sqrt(0.001) * other[i][k])));
  }

  const overlap = (u, j, k) => u.reduce((total, row) => total + row[j] * row[k], 0);

  // The shares of a network, the diagonal of U'U.
  const sharesOf = (u) => u[0].map((_, j) => overlap(u, j, j));

  // L for a network of |U| = 1.
  function loss(u, rho, tau) {
    let total = 0;
    rho.forEach((r, j) => rho.forEach((_, k) => (total += (tau * overlap(u, j, k) - (j === k ? r : 0)) ** 2)));
    return total - sum(rho.map((r) => r * r));
  }

  // -dL/dU / (4 tau), tangent to the sphere, and -dL/d log tau / (4 tau).
  function velocity(u, rho, tau) {
    const gram = rho.map((_, j) => rho.map((_, k) => overlap(u, j, k)));
    let radial = 0; // <U, U (C - tau G)> = <C - tau G, G>, which is twice what moves log tau
    rho.forEach((r, j) => rho.forEach((_, k) => (radial += ((j === k ? r : 0) - tau * gram[j][k]) * gram[j][k])));
    const turn = u.map((row) => row.map((x, k) => x * (rho[k] - radial) - tau * sum(row.map((y, j) => y * gram[j][k]))));
    return { turn, warming: radial / 2 };
  }

  // A step of the flow; tau moves if it is learned.
  function step({ u, tau }, rho, learn) {
    const { turn, warming } = velocity(u, rho, tau), by = RATE / (1 + tau);
    return { u: normalised(u.map((row, i) => row.map((x, k) => x + by * turn[i][k]))), tau: learn ? tau * Math.exp(by * warming) : tau };
  }

  // n pairs of views of correlations rho, n x D each.
  function pairsOf(rho, n, draw) {
    const first = table(n, rho.length, draw);
    return { first, second: first.map((row) => row.map((x, j) => rho[j] * x + Math.sqrt(1 - rho[j] ** 2) * draw())) };
  }

  // -dL/dU / (4 tau), tangent, and -dL/d log tau / (4 tau), of InfoNCE of both sides among these pairs.
  function sampledVelocity(u, tau, { first, second }, distance) {
    const image = (x) => u.map((row) => row.reduce((total, w, k) => total + w * x[k], 0));
    const f = first.map(image), g = second.map(image), n = f.length;
    const apart = (a, b) => -0.5 * a.reduce((total, x, k) => total + (x - b[k]) ** 2, 0), dot = (a, b) => a.reduce((total, x, k) => total + x * b[k], 0);
    const logits = f.map((a) => g.map((b) => tau * (distance ? apart : dot)(a, b)));
    const weights = (at) => {
      const most = Math.max(...at), e = at.map((l) => Math.exp(l - most)), total = sum(e);
      return e.map((x) => x / total);
    };
    const rows = logits.map(weights), columns = g.map((_, j) => weights(logits.map((row) => row[j])));
    const onFirst = f.map((a) => a.map(() => 0)), onSecond = g.map((b) => b.map(() => 0)); // -dL/df / (4 tau) and -dL/dg / (4 tau)
    let warming = 0;
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++) {
        const pull = ((i === j ? 2 : 0) - rows[i][j] - columns[j][i]) / (4 * n); // a quarter of -dL/dlogit
        warming += (pull * logits[i][j]) / tau;
        for (let r = 0; r < u.length; r++) {
          onFirst[i][r] += pull * (g[j][r] - (distance ? f[i][r] : 0));
          onSecond[j][r] += pull * (f[i][r] - (distance ? g[j][r] : 0));
        }
      }
    const turn = u.map((row, r) => row.map((_, k) => first.reduce((total, x, i) => total + onFirst[i][r] * x[k] + onSecond[i][r] * second[i][k], 0)));
    const radial = sum(turn.map((row, r) => dot(row, u[r])));
    return { turn: turn.map((row, r) => row.map((x, k) => x - radial * u[r][k])), warming };
  }

  // A step on n fresh pairs, `slower` times as long as that of the flow.
  function sampledStep({ u, tau }, rho, learn, { n, draw, distance, slower }) {
    const { turn, warming } = sampledVelocity(u, tau, pairsOf(rho, n, draw), distance), by = (slower * RATE) / (1 + tau);
    return { u: normalised(u.map((row, i) => row.map((x, k) => x + by * turn[i][k]))), tau: learn ? tau * Math.exp(by * warming) : tau };
  }

  root.explorables = root.explorables || {};
  root.explorables.vesselMath = { spectrum, waterFilling, learnedTau, rank, begin, kicked, sharesOf, loss, velocity, step, distanceFilling, learnedDistanceTau, normals, sampledVelocity, sampledStep };
})(typeof globalThis === "undefined" ? this : globalThis);
