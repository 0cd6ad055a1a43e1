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

// One side of a tile: its elements as ordered integers, and after sort() in ascending order, with the positions where they were if `keep`.
struct Ranked {
  Ints *tile, *positions = nullptr;
  Floats* sorted = nullptr;
  float* values = nullptr;
  Method method = EQUAL_STEPS;

  Ranked(int side, std::int64_t n, bool keep) : tile(buffer<Ints>(3 * side, n)) {
    if (keep) positions = buffer<Ints>(3 * side + 1, n), sorted = buffer<Floats>(3 * side + 2, n);
  }
  void sort(std::int64_t count, std::int64_t n) { values = sort_values(count, n, tile, positions, sorted, method); }
  std::int64_t position(std::int64_t i, int lane) const { return reinterpret_cast<const std::int32_t*>(positions)[i * LANES + lane]; }
};

// Slopes of ranks to rows, each at its position; beyond n up to stride, zeros.
static void scatter(const float* slopes, const Ranked& side, std::int64_t count, std::int64_t n, float* rows, std::int64_t stride) {
  for (std::int64_t i = 0; i < n; i++)
    for (int lane = 0; lane < count; lane++) rows[lane * stride + side.position(i, lane)] = slopes[i * LANES + lane];
  for (int lane = 0; lane < count; lane++)
    for (std::int64_t i = n; i < stride; i++) rows[lane * stride + i] = 0.0f;
}

static void sort(const float* values, std::int64_t rows, std::int64_t n, float* sorted, std::int64_t* index) {
  Ranked side(0, n, index);
  for (std::int64_t first = 0; first < rows; first += LANES) {
    const std::int64_t count = rows - first < LANES ? rows - first : LANES;
    load_tile(values + first * n, count, n, side.tile);
    side.sort(count, n);
    for (std::int64_t i = 0; i < n; i++)
      for (int lane = 0; lane < count; lane++) {
        sorted[(first + lane) * n + i] = side.values[i * LANES + lane];
        if (index) index[(first + lane) * n + i] = side.position(i, lane);
      }
  }
}

static void solve(float* u, float* v, std::int64_t rows, std::int64_t n, double order, bool need_u, bool need_v, float* costs) {
  Ranked u_side(0, n, need_u), v_side(1, n, need_v);
  for (std::int64_t first = 0; first < rows; first += LANES) {
    const std::int64_t count = rows - first < LANES ? rows - first : LANES;
    load_tile(u + first * n, count, n, u_side.tile);
    load_tile(v + first * n, count, n, v_side.tile);
    u_side.sort(count, n);
    v_side.sort(count, n);
    compare(u_side.values, v_side.values, n, order, costs + first, count);
    if (need_u) scatter(u_side.values, u_side, count, n, u + first * n, n);
    if (need_v) scatter(u_side.values, v_side, count, n, v + first * n, n);
  }
}

// Products <x, theta> of all samples with the directions of the lanes, as ordered integers.
template <int DIM>
static void project(const float* x, std::int64_t row, const float* theta, std::int64_t count, std::int64_t n, int dim, Ints* tile) {
  const int size = DIM ? DIM : dim;
  Floats columns[MAX_DIM];
  for (int k = 0; k < size; k++)
    for (int lane = 0; lane < LANES; lane++) columns[k][lane] = theta[(lane < count ? lane : count - 1) * size + k];
  const auto some = [&](std::int64_t i, auto samples) {
    Floats sums[samples];
#pragma GCC unroll 4
    for (int j = 0; j < samples; j++) sums[j] = x[i + j] * columns[0];
    for (int k = 1; k < size; k++)
#pragma GCC unroll 4
      for (int j = 0; j < samples; j++) sums[j] += x[k * row + i + j] * columns[k];
#pragma GCC unroll 4
    for (int j = 0; j < samples; j++) tile[i + j] = ordered((Ints)(sums[j] + 0.0f));
  };
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) some(i, std::integral_constant<int, 4>{});
  for (; i < n; i++) some(i, std::integral_constant<int, 1>{});
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

// grad[k][sample] += slope * weight * theta[k], for the slices of all lanes; slopes [lanes][stride], grad [dim][stride].
static void pull_back(const float* slopes, std::int64_t stride, std::int64_t count, int dim, const float* theta, const float* weights,
                      float* grad) {
  for (int first = 0; first < dim; first += 4) {
    const int size = dim - first < 4 ? dim - first : 4;
    float direction[LANES][4] = {};
    for (int lane = 0; lane < count; lane++)
      for (int k = 0; k < size; k++) direction[lane][k] = (weights ? weights[lane] : 1.0f) * theta[lane * dim + first + k];
    for (std::int64_t i = 0; i < stride; i += LANES) {
      Floats sum[4] = {};
      for (int k = 0; k < size; k++) std::memcpy(&sum[k], grad + (first + k) * stride + i, BYTES);
      for (int lane = 0; lane < count; lane++) {
        Floats slope;
        std::memcpy(&slope, slopes + lane * stride + i, BYTES);
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) sum[k] += slope * direction[lane][k];
      }
      for (int k = 0; k < size; k++) std::memcpy(grad + (first + k) * stride + i, &sum[k], BYTES);
    }
  }
}

// grad[lane][k] += scale * weight * sum over samples of slope * x[k], with samples [dim][stride]. The order of the sum is the same with
// every width of registers: sixteen sums of float, which are added in double precision after every SUMMED samples.
static void weigh(const float* slopes, std::int64_t stride, std::int64_t count, int dim, const float* x, double scale, const float* weights,
                  float* grad) {
  constexpr int SOME = 4;  // lanes and coordinates at a time
  constexpr std::int64_t SUMMED = 512;
  for (int lane = 0; lane < count; lane += SOME)
    for (int k = 0; k < dim; k += SOME) {
      const int lanes = count - lane < SOME ? static_cast<int>(count - lane) : SOME, columns = dim - k < SOME ? dim - k : SOME;
      double totals[SOME][SOME] = {};
      for (std::int64_t first = 0; first < stride; first += SUMMED) {
        const std::int64_t end = first + SUMMED < stride ? first + SUMMED : stride;
        Sixteen sums[SOME][SOME] = {};
        for (std::int64_t i = first; i < end; i += 16) {
          Sixteen slope[SOME];
#pragma GCC unroll 4
          for (int l = 0; l < SOME; l++) std::memcpy(&slope[l], slopes + (lane + (l < lanes ? l : 0)) * stride + i, sizeof(Sixteen));
#pragma GCC unroll 4
          for (int c = 0; c < SOME; c++) {
            Sixteen column;
            std::memcpy(&column, x + (k + (c < columns ? c : 0)) * stride + i, sizeof(Sixteen));
#pragma GCC unroll 4
            for (int l = 0; l < SOME; l++) sums[l][c] += slope[l] * column;
          }
        }
        for (int l = 0; l < SOME; l++)
          for (int c = 0; c < SOME; c++)
            for (int j = 0; j < 16; j++) totals[l][c] += sums[l][c][j];
      }
      for (int l = 0; l < lanes; l++)
        for (int c = 0; c < columns; c++)
          grad[(lane + l) * dim + k + c] += static_cast<float>((weights ? scale * weights[lane + l] : scale) * totals[l][c]);
    }
}

// Samples [dim][stride] with zeros beyond n, in memory of this thread.
static const float* pad(const float* x, std::int64_t row, std::int64_t n, int dim, std::int64_t stride, int which) {
  float* padded = reinterpret_cast<float*>(scratch(which, dim * stride * sizeof(float)));
  for (int k = 0; k < dim; k++)
    for (std::int64_t i = 0; i < stride; i++) padded[k * stride + i] = i < n ? x[k * row + i] : 0.0f;
  return padded;
}

// The coordinates of a sample next to each other, in fours, in memory of this thread.
static const Four* interleave(const float* x, std::int64_t row, std::int64_t n, int dim, int which) {
  const int width = (dim + 3) / 4 * 4;
  Four* rows = buffer<Four>(which, n * (width / 4));
  float* flat = reinterpret_cast<float*>(rows);
  for (std::int64_t i = 0; i < n; i++)
    for (int k = 0; k < width; k++) flat[i * width + k] = k < dim ? x[k * row + i] : 0.0f;
  return rows;
}

// Sum over ranks of |x - y|^order between the samples of a rank, of every lane.
static void lift(const Ranked& x_side, const Ranked& y_side, std::int64_t count, std::int64_t n, int dim, const Four* x, const Four* y,
                 double order, float* costs) {
  const int fours = (dim + 3) / 4;
  for (int lane = 0; lane < count; lane++) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; i++) {
      const Four *a = x + x_side.position(i, lane) * fours, *b = y + y_side.position(i, lane) * fours;
      Four squares = {};
      for (int q = 0; q < fours; q++) squares += (a[q] - b[q]) * (a[q] - b[q]);
      const float square = (squares[0] + squares[1]) + (squares[2] + squares[3]);
      sum += order == 2 ? square : std::pow(square, static_cast<float>(order / 2));
    }
    costs[lane] = static_cast<float>(sum);
  }
}

static void sliced(Sliced& s) {
  const std::int64_t n = s.samples, units = s.units(), stride = s.stride(), part = s.part();
  const bool both = s.theta_grad || s.lifted;
  Ranked x_side(0, n, s.x_parts || s.x_slopes || both), y_side(1, n, s.y_parts || s.y_slopes || both);
  float* slopes = reinterpret_cast<float*>(scratch(9, LANES * stride * sizeof(float)));
  for (std::int64_t next; (next = s.items.take()) >= 0;) {
    const std::int64_t replica = next / units, first = next % units * s.unit;
    const std::int64_t last = first + s.unit < s.slices ? first + s.unit : s.slices;
    const float *x = s.x.values + replica * s.x.replica, *y = s.y.values + replica * s.y.replica;
    float* x_part = s.x_parts ? s.x_parts + next * part : nullptr;
    float* y_part = s.y_parts ? s.y_parts + next * part : nullptr;
    if (x_part) std::memset(x_part, 0, part * sizeof(float));
    if (y_part) std::memset(y_part, 0, part * sizeof(float));
    const float* x_padded = s.theta_grad ? pad(x, s.x.row, n, s.dim, stride, 7) : nullptr;
    const float* y_padded = s.theta_grad ? pad(y, s.y.row, n, s.dim, stride, 8) : nullptr;
    const Four* x_rows = s.lifted ? interleave(x, s.x.row, n, s.dim, 7) : nullptr;
    const Four* y_rows = s.lifted ? interleave(y, s.y.row, n, s.dim, 8) : nullptr;
    for (std::int64_t slice = first; slice < last; slice += LANES) {
      const std::int64_t count = last - slice < LANES ? last - slice : LANES, at = replica * s.slices + slice;
      const float *theta = s.theta + at * s.dim, *weights = s.weights ? s.weights + at : nullptr;
      float* theta_grad = s.theta_grad ? s.theta_grad + at * s.dim : nullptr;
      project(x, s.x.row, theta, count, n, s.dim, x_side.tile);
      x_side.sort(count, n);
      float* const y_kept = s.y_sorted ? s.y_sorted + replica * s.kept() + slice * n : nullptr;
      if (!s.y_known) {
        project(y, s.y.row, theta, count, n, s.dim, y_side.tile);
        y_side.sort(count, n);
        if (y_kept) std::memcpy(y_kept, y_side.values, n * BYTES);
      }
      if (s.lifted) {
        lift(x_side, y_side, count, n, s.dim, x_rows, y_rows, s.order, s.costs + at);
        continue;
      }
      compare(x_side.values, s.y_known ? y_kept : y_side.values, n, s.order, s.costs + at, count);
      if (theta_grad) std::memset(theta_grad, 0, count * s.dim * sizeof(float));
      const auto carry = [&](const Ranked& side, float* grad, float* kept, const float* padded, double scale) {
        if (kept) scatter(x_side.values, side, count, n, kept + at * n, n);
        if (!grad && !theta_grad) return;
        scatter(x_side.values, side, count, n, slopes, stride);
        if (grad) pull_back(slopes, stride, count, s.dim, theta, weights, grad);
        if (theta_grad) weigh(slopes, stride, count, s.dim, padded, scale, weights, theta_grad);
      };
      carry(x_side, x_part, s.x_slopes, x_padded, s.scale);
      carry(y_side, y_part, s.y_slopes, y_padded, -s.scale);
    }
  }
}
