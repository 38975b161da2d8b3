// Arithmetic of the live picture "clouds": outputs u(x) = q'V'x on half moons under three rules of training.
//
// q is the 2 x 2 matrix [u(v_1), u(v_2)] in the eigenbasis of C/n = V diag(l_1, l_2) V', stored by rows as four numbers.
// C/n = nu mu mu' - E[xx'] with nu negatives for each positive (esser-2023, E[C] below Theorem 3). From the same q0,
//   none    q = exp(-2 L t) q0, the flow of u = Theta x without a constraint (Proposition 1);
//   norm    the same rescaled to the Frobenius norm of q0, its flow on a sphere;
//   layers  dq/dt = -4 L q + 2 L q q'q + 2 q q'L q, orthonormal layers whose gradients are projected (9), or
//           dq/dt = -4 L q + L q q'q + 3 q q'L q if the weights are projected, by Runge-Kutta of order four.
//
// No DOM: the tests run this file alone and hold it to clouds.vectors.json, which the library's kernels wrote.
(function (root) {
  "use strict";
  const STEP = 0.02, STEPS = 400, END = STEP * STEPS; // of a film
  const MEAN = [1 / 2, 1 / 4], MOMENT = [1, 1 / 4 - 1 / Math.PI, 5 / 8 - 1 / Math.PI]; // E[xx'] by xx, xy, yy
  const SHAPE = [1, 0.6], TURN = 0.4; // q0 = s R(angle) diag(SHAPE) R(TURN)
  const RULES = ["none", "norm", "layers"];

  // Eigenvalues in ascending order, and the eigenvectors as columns of a rotation that turns steadily with nu: the
  // off-diagonal entry of C is positive for every nu >= 0.
  function spectrum(negatives) {
    const [xx, xy, yy] = [[0, 0], [0, 1], [1, 1]].map(([i, j], k) => negatives * MEAN[i] * MEAN[j] - MOMENT[k]);
    const middle = (xx + yy) / 2, half = Math.hypot((xx - yy) / 2, xy), turn = Math.atan2(2 * xy, xx - yy) / 2;
    const c = Math.cos(turn), s = Math.sin(turn);
    return { values: [middle - half, middle + half], vectors: [s, c, -c, s] };
  }

  // The number of negatives from which l_2 is positive: 1 / (mu' E[xx']^-1 mu).
  function turningPoint() {
    const [xx, xy, yy] = MOMENT, [x, y] = MEAN;
    return (xx * yy - xy * xy) / (yy * x * x - 2 * xy * x * y + xx * y * y);
  }

  // n / 2 points on either half circle, as the library's half_moons(n) has them: the upper one comes first.
  function halfMoons(n = 120) {
    const angles = Array.from({ length: n / 2 }, (_, k) => (Math.PI * k) / (n / 2 - 1));
    return [...angles.map((a) => [Math.cos(a), Math.sin(a)]), ...angles.map((a) => [1 - Math.cos(a), 0.5 - Math.sin(a)])];
  }

  // V'x of each point, and for white data the same centred and scaled to unit variance: then C/n = -I for every nu.
  function inEigenbasis(points, negatives, white) {
    const { values, vectors: v } = spectrum(white ? 1 : negatives); // C/n = -Cov(x) at nu = 1
    const [mx, my] = white ? MEAN : [0, 0], [sx, sy] = white ? values.map((l) => 1 / Math.sqrt(-l)) : [1, 1];
    return points.map(([x, y]) => [sx * (v[0] * (x - mx) + v[2] * (y - my)), sy * (v[1] * (x - mx) + v[3] * (y - my))]);
  }

  function start(size, angle) {
    const c = Math.cos(angle), s = Math.sin(angle), d = Math.cos(TURN), e = Math.sin(TURN), [a, b] = SHAPE;
    return [c * a * d - s * b * e, -c * a * e - s * b * d, s * a * d + c * b * e, c * b * d - s * a * e].map((x) => size * x);
  }

  // dq/dt of orthonormal layers: -4 L q + left L q q'q + (4 - left) q q'L q, left = 2 for (9), 1 if weights are projected.
  function velocity([a, b, c, d], [l, m], left) {
    const xx = a * a + c * c, xy = a * b + c * d, yy = b * b + d * d; // q'q
    const right = 4 - left, fxx = l * a * a + m * c * c, fxy = l * a * b + m * c * d, fyy = l * b * b + m * d * d; // q'L q
    return [
      l * (left * (a * xx + b * xy) - 4 * a) + right * (a * fxx + b * fxy),
      l * (left * (a * xy + b * yy) - 4 * b) + right * (a * fxy + b * fyy),
      m * (left * (c * xx + d * xy) - 4 * c) + right * (c * fxx + d * fxy),
      m * (left * (c * xy + d * yy) - 4 * d) + right * (c * fxy + d * fyy),
    ];
  }

  function rungeKutta(q, values, left, step) {
    const from = (slope, part) => velocity(q.map((x, k) => x + part * step * slope[k]), values, left);
    const one = velocity(q, values, left), two = from(one, 0.5), three = from(two, 0.5), four = from(three, 1);
    return q.map((x, k) => x + (step / 6) * (one[k] + 2 * two[k] + 2 * three[k] + four[k]));
  }

  function free(q0, [l, m], t) {
    const first = Math.exp(-2 * l * t), second = Math.exp(-2 * m * t);
    return [first * q0[0], first * q0[1], second * q0[2], second * q0[3]];
  }

  // The effective rank exp(-sum p log p), p the shares of the squared singular values: 1 on a line, 2 for a similarity.
  function rank([a, b, c, d]) {
    const square = a * a + b * b + c * c + d * d, share = Math.abs((a * d - b * c) / square); // sqrt(p_1 p_2)
    const most = (1 + Math.sqrt(Math.max(0, 1 - 4 * share * share))) / 2, least = (share * share) / most;
    return Math.exp(-most * Math.log(most) - (least > 0 ? least * Math.log(least) : 0));
  }

  // The whole film: eigenvalues, and per rule the matrices q and their ranks at the times 0, step, 2 step, ...
  function film({ negatives, size, angle, white = false, weights = false }, step = STEP, steps = STEPS) {
    const values = white ? [-1, -1] : spectrum(negatives).values, q0 = start(size, angle), norm = Math.hypot(...q0);
    const paths = { none: [q0], norm: [q0], layers: [q0] };
    for (let k = 1; k <= steps; k++) {
      const loose = free(q0, values, k * step), scale = norm / Math.hypot(...loose);
      paths.none.push(loose);
      paths.norm.push(loose.map((x) => scale * x));
      paths.layers.push(rungeKutta(paths.layers[k - 1], values, weights ? 1 : 2, step));
    }
    const ranks = Object.fromEntries(RULES.map((rule) => [rule, paths[rule].map(rank)]));
    return { values, norm, paths, ranks };
  }

  // q at a time of a film, linear between its steps.
  function at(path, t) {
    const place = Math.min(Math.max(t / STEP, 0), path.length - 1), k = Math.min(Math.floor(place), path.length - 2);
    return path[k].map((x, i) => x + (place - k) * (path[k + 1][i] - x));
  }

  const outputs = ([a, b, c, d], points) => points.map(([x, y]) => [a * x + c * y, b * x + d * y]); // u = q'y

  root.explorables = root.explorables || {};
  root.explorables.cloudsMath = { RULES, STEP, END, spectrum, turningPoint, halfMoons, inEigenbasis, start, rank, film, at, outputs };
})(typeof globalThis === "undefined" ? this : globalThis);
