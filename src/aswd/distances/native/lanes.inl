// Transport on the line for many rows, one row per lane of a vector register of BYTES. Included once per instruction set, inside a namespace
// of its own.

#include "networks.inl"

// The order of floats as that of signed integers, both ways; -0.0 becomes 0.0 before.
static inline Ints ordered(Ints bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }

// Transpose a square of LANES registers: element l of register j becomes element j of register l.
static inline void transpose(Ints* e) {
#pragma GCC unroll 4
  for (int bit = 1; bit < LANES; bit *= 2) {
    Ints first, second;
    for (int lane = 0; lane < LANES; lane++) {
      first[lane] = lane & bit ? LANES + (lane ^ bit) : lane;
      second[lane] = lane & bit ? LANES + lane : lane ^ bit;
    }
#pragma GCC unroll 16
    for (int j = 0; j < LANES; j++)
      if (!(j & bit)) {
        const Ints low = __builtin_shuffle(e[j], e[j + bit], first);
        e[j + bit] = __builtin_shuffle(e[j], e[j + bit], second);
        e[j] = low;
      }
  }
}

// LANES rows side by side, [padded n][LANES], as ordered integers; rows beyond the last repeat it.
static void load_tile(const float* rows, std::int64_t count, std::int64_t n, Ints* tile) {
  std::int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    Ints e[LANES];
#pragma GCC unroll 16
    for (int lane = 0; lane < LANES; lane++) {
      Floats values;
      std::memcpy(&values, rows + (lane < count ? lane : count - 1) * n + i, BYTES);
      e[lane] = ordered((Ints)(values + 0.0f));
    }
    transpose(e);
#pragma GCC unroll 16
    for (int lane = 0; lane < LANES; lane++) tile[i + lane] = e[lane];
  }
  for (; i < n; i++) {
    Floats values;
    for (int lane = 0; lane < LANES; lane++) values[lane] = rows[(lane < count ? lane : count - 1) * n + i];
    tile[i] = ordered((Ints)(values + 0.0f));
  }
  for (; i < padded_length(n); i++) tile[i] = Ints{} + INT32_MAX;
}

#include "keys.inl"

// Sum over ranks of |u - v|^order of every lane; slopes |u - v|^(order - 1) sign(u - v) replace u.
static void compare(float* u, const float* v, std::int64_t n, double order, float* costs, std::int64_t count) {
  double cost[LANES] = {};
  if (order == 2) {
    for (std::int64_t i = 0; i < n; i++)
      for (int lane = 0; lane < LANES; lane++) {
        const float difference = u[i * LANES + lane] - v[i * LANES + lane];
        u[i * LANES + lane] = difference;
        cost[lane] += static_cast<double>(difference) * difference;
      }
  } else {
    for (std::int64_t i = 0; i < n; i++)
      for (int lane = 0; lane < LANES; lane++) {
        const float difference = u[i * LANES + lane] - v[i * LANES + lane], size = std::fabs(difference);
        const float power = order == 1 ? (size > 0 ? 1.0f : size) : std::pow(size, static_cast<float>(order - 1));
        u[i * LANES + lane] = std::copysign(power, difference);
        cost[lane] += static_cast<double>(power) * size;
      }
  }
  for (int lane = 0; lane < count; lane++) costs[lane] = static_cast<float>(cost[lane]);
}

// Write a tile back to its rows, each element at its position.
static void scatter(const float* flat, const Ints* positions, std::int64_t count, std::int64_t n, float* rows) {
  for (int lane = 0; lane < count; lane++)
    for (std::int64_t i = 0; i < n; i++) rows[lane * n + position(positions, i, lane)] = flat[i * LANES + lane];
}

static void sort(const float* values, std::int64_t rows, std::int64_t n, float* sorted, std::int64_t* index) {
  Ints* tile = buffer<Ints>(0, n);
  Ints* positions = index ? buffer<Ints>(1, n) : nullptr;
  Floats* sorted_tile = index ? buffer<Floats>(9, n) : nullptr;
  Method method = EQUAL_STEPS;
  for (std::int64_t first = 0; first < rows; first += LANES) {
    const std::int64_t count = rows - first < LANES ? rows - first : LANES;
    load_tile(values + first * n, count, n, tile);
    const float* flat = sort_values(count, n, tile, positions, sorted_tile, method);
    for (int lane = 0; lane < count; lane++)
      for (std::int64_t i = 0; i < n; i++) {
        sorted[(first + lane) * n + i] = flat[i * LANES + lane];
        if (index) index[(first + lane) * n + i] = position(positions, i, lane);
      }
  }
}

static void solve(float* u, float* v, std::int64_t rows, std::int64_t n, double order, bool need_u, bool need_v, float* costs) {
  Ints *u_tile = buffer<Ints>(0, n), *v_tile = buffer<Ints>(2, n);
  Ints* u_positions = need_u ? buffer<Ints>(1, n) : nullptr;
  Floats* u_sorted = need_u ? buffer<Floats>(9, n) : nullptr;
  Ints* v_positions = need_v ? buffer<Ints>(3, n) : nullptr;
  Floats* v_sorted = need_v ? buffer<Floats>(10, n) : nullptr;
  Method u_method = EQUAL_STEPS, v_method = EQUAL_STEPS;
  for (std::int64_t first = 0; first < rows; first += LANES) {
    const std::int64_t count = rows - first < LANES ? rows - first : LANES;
    load_tile(u + first * n, count, n, u_tile);
    load_tile(v + first * n, count, n, v_tile);
    float* slopes = sort_values(count, n, u_tile, u_positions, u_sorted, u_method);
    const float* v_values = sort_values(count, n, v_tile, v_positions, v_sorted, v_method);
    compare(slopes, v_values, n, order, costs + first, count);
    if (need_u) scatter(slopes, u_positions, count, n, u + first * n);
    if (need_v) scatter(slopes, v_positions, count, n, v + first * n);
  }
}

// Products <x, theta> of all samples with the directions of the lanes, as ordered integers.
template <int DIM>
static void project(const float* x, std::int64_t row, const float* theta, std::int64_t count, std::int64_t n, int dim, Ints* tile) {
  const int size = DIM ? DIM : dim;
  Floats columns[MAX_DIM];
  for (int k = 0; k < size; k++)
    for (int lane = 0; lane < LANES; lane++) columns[k][lane] = theta[(lane < count ? lane : count - 1) * size + k];
  for (std::int64_t i = 0; i < n; i++) {
    Floats sum = x[i] * columns[0];
    for (int k = 1; k < size; k++) sum += x[k * row + i] * columns[k];
    tile[i] = ordered((Ints)(sum + 0.0f));
  }
  for (std::int64_t i = n; i < padded_length(n); i++) tile[i] = Ints{} + INT32_MAX;
}

static void project(const float* x, std::int64_t row, const float* theta, std::int64_t count, std::int64_t n, int dim, Ints* tile) {
  switch (dim) {
    case 2: return project<2>(x, row, theta, count, n, dim, tile);
    case 3: return project<3>(x, row, theta, count, n, dim, tile);
    case 4: return project<4>(x, row, theta, count, n, dim, tile);
    default: return project<0>(x, row, theta, count, n, dim, tile);
  }
}

// grad[position] += slope * weight * theta, for the slices of all lanes; FOURS registers of four coordinates.
template <int FOURS>
static void pull_back(const float* slopes, const Ints* positions, std::int64_t count, std::int64_t n, int dim, const float* theta,
                      const float* weights, float* grad) {
  for (int lane = 0; lane < count; lane++) {
    Four direction[FOURS] = {};
    std::memcpy(direction, theta + lane * dim, dim * sizeof(float));
    if (weights)
      for (int q = 0; q < FOURS; q++) direction[q] *= weights[lane];
    for (std::int64_t i = 0; i < n; i++) {
      Four* to = reinterpret_cast<Four*>(grad) + position(positions, i, lane) * FOURS;
      for (int q = 0; q < FOURS; q++) to[q] += slopes[i * LANES + lane] * direction[q];
    }
  }
}

// The coordinates of a sample next to each other, in memory of this thread.
template <int FOURS>
static const float* interleave(const float* x, std::int64_t row, std::int64_t n, int dim, int which) {
  float* rows = reinterpret_cast<float*>(buffer<Four>(which, n * FOURS));
  for (std::int64_t i = 0; i < n; i++)
    for (int k = 0; k < 4 * FOURS; k++) rows[i * 4 * FOURS + k] = k < dim ? x[k * row + i] : 0.0f;
  return rows;
}

// grad[lane] += scale * weight * sum over samples of slope * x[position].
template <int FOURS>
static void weigh(const float* slopes, const Ints* positions, std::int64_t count, std::int64_t n, int dim, const float* x, double scale,
                  const float* weights, float* grad) {
  for (int lane = 0; lane < count; lane++) {
    double sum[4 * FOURS] = {};
    for (std::int64_t i = 0; i < n; i++) {
      const float* from = x + position(positions, i, lane) * 4 * FOURS;
      for (int k = 0; k < 4 * FOURS; k++) sum[k] += static_cast<double>(slopes[i * LANES + lane]) * from[k];
    }
    for (int k = 0; k < dim; k++) grad[lane * dim + k] += static_cast<float>((weights ? scale * weights[lane] : scale) * sum[k]);
  }
}

// Sum over ranks of |x - y|^order between the samples of a rank, of every lane.
template <int FOURS>
static void lift(const Ints* x_positions, const Ints* y_positions, std::int64_t count, std::int64_t n, const float* x, const float* y, double order,
                 float* costs) {
  for (int lane = 0; lane < count; lane++) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; i++) {
      const Four* a = reinterpret_cast<const Four*>(x) + position(x_positions, i, lane) * FOURS;
      const Four* b = reinterpret_cast<const Four*>(y) + position(y_positions, i, lane) * FOURS;
      Four squares = {};
      for (int q = 0; q < FOURS; q++) squares += (a[q] - b[q]) * (a[q] - b[q]);
      const float square = (squares[0] + squares[1]) + (squares[2] + squares[3]);
      sum += order == 2 ? square : std::pow(square, static_cast<float>(order / 2));
    }
    costs[lane] = static_cast<float>(sum);
  }
}

template <int FOURS>
static void sliced(Sliced& s) {
  const std::int64_t n = s.samples, units = s.units(), part = s.part();
  const bool rows = s.theta_grad || s.lifted;
  const bool keep_x = s.x_parts || s.x_slopes || rows, keep_y = s.y_parts || s.y_slopes || rows;
  Ints *x_tile = buffer<Ints>(0, n), *y_tile = buffer<Ints>(2, n);
  Ints* x_positions = keep_x ? buffer<Ints>(1, n) : nullptr;
  Floats* x_sorted = keep_x ? buffer<Floats>(9, n) : nullptr;
  Ints* y_positions = keep_y ? buffer<Ints>(3, n) : nullptr;
  Floats* y_sorted = keep_y ? buffer<Floats>(10, n) : nullptr;
  Method x_method = EQUAL_STEPS, y_method = EQUAL_STEPS;
  for (std::int64_t next; (next = s.next.fetch_add(1)) < s.replicas * units;) {
    const std::int64_t replica = next / units, first = next % units * s.unit;
    const std::int64_t last = first + s.unit < s.slices ? first + s.unit : s.slices;
    const float *x = s.x.values + replica * s.x.replica, *y = s.y.values + replica * s.y.replica;
    float* x_part = s.x_parts ? s.x_parts + next * part : nullptr;
    float* y_part = s.y_parts ? s.y_parts + next * part : nullptr;
    const float* x_rows = rows ? interleave<FOURS>(x, s.x.row, n, s.dim, 4) : nullptr;
    const float* y_rows = rows ? interleave<FOURS>(y, s.y.row, n, s.dim, 5) : nullptr;
    if (x_part) std::memset(x_part, 0, part * sizeof(float));
    if (y_part) std::memset(y_part, 0, part * sizeof(float));
    for (std::int64_t slice = first; slice < last; slice += LANES) {
      const std::int64_t count = last - slice < LANES ? last - slice : LANES, at = replica * s.slices + slice;
      const float *theta = s.theta + at * s.dim, *weights = s.weights ? s.weights + at : nullptr;
      project(x, s.x.row, theta, count, n, s.dim, x_tile);
      project(y, s.y.row, theta, count, n, s.dim, y_tile);
      float* slopes = sort_values(count, n, x_tile, x_positions, x_sorted, x_method);
      const float* y_values = sort_values(count, n, y_tile, y_positions, y_sorted, y_method);
      if (s.lifted) {
        lift<FOURS>(x_positions, y_positions, count, n, x_rows, y_rows, s.order, s.costs + at);
        continue;
      }
      compare(slopes, y_values, n, s.order, s.costs + at, count);
      if (x_part) pull_back<FOURS>(slopes, x_positions, count, n, s.dim, theta, weights, x_part);
      if (y_part) pull_back<FOURS>(slopes, y_positions, count, n, s.dim, theta, weights, y_part);
      if (s.x_slopes) scatter(slopes, x_positions, count, n, s.x_slopes + at * n);
      if (s.y_slopes) scatter(slopes, y_positions, count, n, s.y_slopes + at * n);
      if (s.theta_grad) {
        float* grad = s.theta_grad + at * s.dim;
        std::memset(grad, 0, count * s.dim * sizeof(float));
        weigh<FOURS>(slopes, x_positions, count, n, s.dim, x_rows, s.scale, weights, grad);
        weigh<FOURS>(slopes, y_positions, count, n, s.dim, y_rows, -s.scale, weights, grad);
      }
    }
  }
}

static void sliced(Sliced& s) {
  switch ((s.dim + 3) / 4) {
    case 1: return sliced<1>(s);
    case 2: return sliced<2>(s);
    case 3: return sliced<3>(s);
    default: return sliced<4>(s);
  }
}
