// Arithmetic of the live picture "vessel": the shares that the law gives to directions of correlation rho, and a linear network
// that learns them.
//
// One encoder f = U x of whitened views with C = E[x x+'] = diag(rho), |U|_F = 1, G = U'U; tau multiplies the inner products.
// InfoNCE with many negatives and Gaussian views is L = |tau G - C|^2 - |C|^2 up to a constant (soft_threshold.population_loss).
// Its optimum has the shares g_j = (rho_j - level)_+ / tau of sum 1 over the z largest rho. Where log tau is trained, too, tau
// ends at the sum of the positive rho, and level at 0. The flow -dL/dU on the sphere is 4 tau U (C - tau G), less its radial part,
// and -dL/d log tau = 2 tau <C - tau G, G>; a step of time RATE / (4 tau (1 + tau)) keeps it stable.
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

  // Where a learned tau settles.
  const learnedTau = (rho, z = rho.length) => sum(largest(rho, z).map((j) => Math.max(rho[j], 0)));

  // exp of the entropy of shares of sum 1.
  const rank = (shares) => Math.exp(-sum(shares.map((g) => (g > 0 ? g * Math.log(g) : 0))));

  // z x D normal numbers of sum of squares 1, from Lehmer's uniforms by Box and Muller.
  function begin(z, D, seed) {
    let state = (1000003 * seed) % 2147483647;
    const uniform = () => (state = (16807 * state) % 2147483647) / 2147483647;
    for (let k = 0; k < 8; k++) uniform(); // the first depend on the seed almost linearly
    const u = Array.from({ length: z }, () => Array.from({ length: D }, () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())));
    return normalised(u);
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

  root.explorables = root.explorables || {};
  root.explorables.vesselMath = { spectrum, waterFilling, learnedTau, rank, begin, kicked, sharesOf, loss, velocity, step };
})(typeof globalThis === "undefined" ? this : globalThis);
