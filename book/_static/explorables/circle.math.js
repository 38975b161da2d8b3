// Arithmetic of the live picture "circle": one filter w = (cos t, sin t) and points phi_i on the unit circle.
//
// A world is {points, leak, spread, vote, token}. h(z) = z for z > 0 and leak * z otherwise; E(t) = (q - m^2) / 2 with m and q
// the means of h and h^2 over the data (tian-2023, eq. (5) with K = 1), and the filter's angle follows dt/ds = E'(t) (Lemma 3).
// With spread r > 0 each point is uniform on the arc [phi_i - r, phi_i + r]; the means are then differences of the
// antiderivatives below. A vote c for the point `token` adds c b^2 / 2 with b = E[h | token] - E[h | another point], so
// that the velocity is P_perp (A + c D D') w with D' w = b: Theorem 5 with s = 1 and its factor of D D' held at c.
//
// No DOM: the tests run this file alone and hold it to circle.vectors.json, which the library's kernels wrote.
(function (root) {
  "use strict";
  const TURN = 2 * Math.PI;
  const FLAT = 1e-12; // a slope this small is rounding
  const BESIDE = 1e-9; // from a kink, on either side of it
  const PLAIN = { leak: 0, spread: 0, vote: 0, token: 0 };

  // {energy, slope, mean, b} at an angle.
  function landscape(t, { points, leak, spread, vote, token }) {
    let m = 0, q = 0, dm = 0, dq = 0; // means of h and h^2, and their derivatives
    // Adds one end of an arc: h and h^2 there, and their integrals from 0 to u. Of cos+ that is 2 n + sin c and of its
    // square (n pi + c + sin c cos c) / 2, for n whole turns and c the rest, clamped to where cos is positive.
    const end = (u, sign) => {
      const sine = Math.sin(u), cosine = Math.cos(u), open = cosine > 0, h = open ? cosine : leak * cosine;
      const n = Math.floor((u + Math.PI) / TURN), rest = u - TURN * n;
      const c = open ? rest : rest > 0 ? Math.PI / 2 : -Math.PI / 2;
      const first = 2 * n + (open ? sine : Math.sign(c)), second = n * Math.PI + c + (open ? sine * cosine : 0);
      m += sign * (leak * sine + (1 - leak) * first);
      q += (sign / 2) * (leak * leak * (u + sine * cosine) + (1 - leak * leak) * second);
      dm += sign * h;
      dq += sign * h * h;
    };
    let own = 0, down = 0; // what the token adds to m and to dm
    for (let k = 0; k < points.length; k++) {
      const phi = points[k], before = m, fell = dm;
      if (spread > 0) {
        end(t - phi + spread, 1);
        end(t - phi - spread, -1);
      } else {
        const cosine = Math.cos(t - phi), gate = cosine > 0 ? 1 : leak, sunk = gate * Math.sin(t - phi);
        m += gate * cosine;
        q += gate * gate * cosine * cosine;
        dm -= sunk;
        dq -= 2 * gate * cosine * sunk;
      }
      if (k === token) [own, down] = [m - before, dm - fell];
    }
    const n = points.length, scale = 1 / (n * (spread > 0 ? 2 * spread : 1)), others = n / (n - 1);
    m *= scale;
    q *= scale;
    dm *= scale;
    const b = others * (own * scale * n - m), db = others * (down * scale * n - dm);
    return { energy: (q - m * m + vote * b * b) / 2, slope: (dq * scale) / 2 - m * dm + vote * b * db, mean: m, b };
  }

  // What a filter says of each point, {low, high} of h over its arc.
  function outputs(t, { points, leak, spread }) {
    const h = (z) => (z > 0 ? z : leak * z);
    const inside = (u) => Math.abs(wrap(u)) <= spread;
    return points.map((phi) => {
      const ends = [Math.cos(t - phi - spread), Math.cos(t - phi + spread)];
      return { low: h(inside(t - phi + Math.PI) ? -1 : Math.min(...ends)), high: h(inside(t - phi) ? 1 : Math.max(...ends)) };
    });
  }

  // The angles at which a point enters or leaves the filter's half plane, or an end of its arc does.
  function kinks({ points, spread }) {
    const ends = spread > 0 ? [-spread, spread] : [0];
    return points.flatMap((phi) => ends.flatMap((end) => [phi + end - TURN / 4, phi + end + TURN / 4])).map(wrap);
  }

  function wrap(t) {
    return t - TURN * Math.floor((t + Math.PI) / TURN);
  }

  // Where the slope changes its sign between an angle where it is `rising` and a later one where it is not, or the reverse.
  function turning(low, high, rising, slopeAt) {
    for (let k = 0; k < 30; k++) {
      const middle = (low + high) / 2;
      if (slopeAt(middle) > 0 === rising) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  }

  // The energy on a grid, its hills by increasing angle, each with its basin {from, share}, and the largest |slope|.
  // A plateau belongs to the slope that leads to it, so it counts once.
  function survey(world, angles = 1440) {
    const slopeAt = (t) => landscape(t, world).slope;
    const curve = [], step = TURN / angles;
    let steepest = 0, top = 0;
    for (let k = 0; k < angles; k++) {
      const t = -Math.PI + k * step, here = landscape(t, world);
      curve.push({ t, energy: here.energy, slope: here.slope });
      steepest = Math.max(steepest, Math.abs(here.slope));
      top = Math.max(top, here.energy);
    }
    // Between two kinks the slope is a sine of 2t, so two changes of its sign lie far apart; at a kink they need not.
    const sides = kinks(world).flatMap((kink) => [kink - BESIDE, kink + BESIDE]).map((t) => ({ t: wrap(t), slope: slopeAt(t) }));
    const ups = [], downs = []; // hills and valleys
    const steep = [...curve, ...sides].sort((a, b) => a.t - b.t).filter((c) => Math.abs(c.slope) > FLAT);
    steep.forEach((c, k) => {
      const next = steep[(k + 1) % steep.length], rising = c.slope > 0;
      if (rising === next.slope > 0) return;
      const end = next.t > c.t ? next.t : next.t + TURN;
      (rising ? ups : downs).push(wrap(turning(c.t, end, rising, slopeAt)));
    });
    ups.sort((a, b) => a - b);
    const hills = ups.map((t) => {
      const before = downs.map((v) => ((t - v) % TURN + TURN) % TURN), after = downs.map((v) => ((v - t) % TURN + TURN) % TURN);
      const left = Math.min(...before), right = Math.min(...after);
      return { t, energy: landscape(t, world).energy, from: t - left, share: (left + right) / TURN };
    });
    return { curve, hills, steepest, top };
  }

  // Which hill a filter at an angle climbs, as an index into hills; -1 where nothing rises.
  function hillOf(t, hills) {
    return hills.findIndex((hill) => ((t - hill.from) % TURN + TURN) % TURN < hill.share * TURN);
  }

  // How many different hills `filters` random starts find on average.
  function expectedFinds(shares, filters) {
    return shares.reduce((sum, b) => sum + 1 - Math.pow(1 - b, filters), 0);
  }

  // One frame of the flow: {t, parked}. Where the slope changes its sign within the move the filter has arrived: ReLU's
  // hills are kinks, at which plain steps would go to and fro for ever. The least move ends the approach to a smooth hill.
  function climb(t, world, steepest, pace = 0.02, least = 0.001) {
    const slopeAt = (at) => landscape(at, world).slope;
    const slope = slopeAt(t);
    if (!(steepest > FLAT) || Math.abs(slope) <= FLAT) return { t, parked: true };
    const end = t + Math.sign(slope) * Math.max((pace * Math.abs(slope)) / steepest, least);
    if (slopeAt(end) > 0 === slope > 0) return { t: wrap(end), parked: false };
    return { t: wrap(turning(Math.min(t, end), Math.max(t, end), true, slopeAt)), parked: true };
  }

  // Where a filter parks in the end.
  function settle(t, world, steepest) {
    let here = { t, parked: false };
    for (let frame = 0; frame < 5000 && !here.parked; frame++) here = climb(here.t, world, steepest);
    return here;
  }

  // Angles in [-pi, pi), the same for the same seed (mulberry32).
  function starts(filters, seed) {
    let state = seed >>> 0;
    return Array.from({ length: filters }, () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let z = Math.imul(state ^ (state >>> 15), state | 1);
      z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
      return (((z ^ (z >>> 14)) >>> 0) / 4294967296) * TURN - Math.PI;
    });
  }

  const POINTS = [-4 / 5, -1 / 2, -2 / 5, -1 / 6, 0, 1 / 5, 2 / 5, 3 / 5, 4 / 5].map((x) => x * Math.PI); // paper Fig. 8

  root.explorables = root.explorables || {};
  root.explorables.circleMath = { POINTS, PLAIN, TURN, landscape, outputs, kinks, survey, hillOf, expectedFinds, climb, settle, starts, wrap };
})(typeof globalThis === "undefined" ? this : globalThis);
