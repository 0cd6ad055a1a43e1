// Sorting networks over rows, one row per lane of a vector register. Included once per instruction set, inside a namespace of its own.
//
// BYTES is the width of a register. A tile holds the elements of LANES rows, element i of all rows next to each other; the comparators
// of a bitonic network are then minima and maxima of whole registers, with no shuffles and no branches. The first stage of every merge
// compares mirrored elements, so that all comparators sort upwards, and rows of any length behave as if padded with larger elements.

typedef double Keys __attribute__((vector_size(BYTES)));        // LANES / 2 rows with positions
typedef std::int64_t Bits __attribute__((vector_size(BYTES)));  // the same, as bits
typedef std::int32_t Ints __attribute__((vector_size(BYTES)));  // LANES rows without positions
typedef std::int32_t HalfInts __attribute__((vector_size(BYTES / 2)));
typedef float Floats __attribute__((vector_size(BYTES)));
constexpr int LANES = BYTES / 4, HALF = LANES / 2;

// Memory of this thread for the elements of a tile of rows of n.
template <class V>
static V* buffer(int which, std::int64_t n) {
  return reinterpret_cast<V*>(scratch(which, (n + 16) * sizeof(V)));
}

static inline Ints lower(Ints a, Ints b) { return a < b ? a : b; }
static inline Ints higher(Ints a, Ints b) { return a < b ? b : a; }
#if BYTES == 64
static inline Keys lower(Keys a, Keys b) { return (Keys)_mm512_min_pd((__m512d)a, (__m512d)b); }
static inline Keys higher(Keys a, Keys b) { return (Keys)_mm512_max_pd((__m512d)a, (__m512d)b); }
#else
static inline Keys lower(Keys a, Keys b) { return (Keys)_mm256_min_pd((__m256d)a, (__m256d)b); }
static inline Keys higher(Keys a, Keys b) { return (Keys)_mm256_max_pd((__m256d)a, (__m256d)b); }
#endif

template <class V>
static inline void exchange(V& a, V& b) {
  const V low = lower(a, b);
  b = higher(a, b);
  a = low;
}

// A tile of n elements; with Guarded, accesses beyond it read a largest element and write nothing.
template <class V, bool Guarded>
struct Tile {
  V* data;
  std::int64_t n;
  V largest;
  inline V load(std::int64_t i) const { return !Guarded || i < n ? data[i] : largest; }
  inline void store(std::int64_t i, V value) const {
    if (!Guarded || i < n) data[i] = value;
  }
};

// Stages at distances d, d / 2, ... of the elements from start to end, COUNT of them at a time in registers.
template <int COUNT, class V, bool Guarded>
static inline void stages(Tile<V, Guarded> tile, std::int64_t start, std::int64_t end, std::int64_t d) {
  constexpr int SIZE = 1 << COUNT;
  const std::int64_t step = 2 * d / SIZE;
  for (std::int64_t block = start; block < end; block += 2 * d)
    for (std::int64_t i = block; i < block + step; i++) {
      V e[SIZE];
#pragma GCC unroll 8
      for (int j = 0; j < SIZE; j++) e[j] = tile.load(i + j * step);
#pragma GCC unroll 3
      for (int apart = SIZE / 2; apart; apart /= 2)
#pragma GCC unroll 8
        for (int j = 0; j < SIZE; j++)
          if (!(j & apart)) exchange(e[j], e[j + apart]);
#pragma GCC unroll 8
      for (int j = 0; j < SIZE; j++) tile.store(i + j * step, e[j]);
    }
}

// The first three stages of a merge of size elements: mirrored, then at distances size / 4 and size / 8.
template <class V, bool Guarded>
static inline void first_stages(Tile<V, Guarded> tile, std::int64_t start, std::int64_t size) {
  const std::int64_t step = size / 8;
  for (std::int64_t i = 0; i < step; i++) {
    const std::int64_t low = start + i, high = start + size - 1 - i;
    V e[8];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) e[j] = tile.load(low + j * step), e[7 - j] = tile.load(high - j * step);
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) exchange(e[j], e[7 - j]);
#pragma GCC unroll 2
    for (int j = 0; j < 2; j++) exchange(e[j], e[j + 2]), exchange(e[j + 4], e[j + 6]);
#pragma GCC unroll 4
    for (int j = 0; j < 8; j += 2) exchange(e[j], e[j + 1]);
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) tile.store(low + j * step, e[j]), tile.store(high - j * step, e[7 - j]);
  }
}

// All stages of the elements from start to end at distances d and less; blocks that fit into the first cache are finished one by one.
template <class V, bool Guarded>
static void finish(Tile<V, Guarded> tile, std::int64_t start, std::int64_t end, std::int64_t d) {
  int left = 0;
  while (d >> left) left++;
  if (left % 3 == 1) stages<1>(tile, start, end, d), d /= 2;
  if (left % 3 == 2) stages<2>(tile, start, end, d), d /= 4;
  if (left < 3) return;
  for (; d > 256; d /= 8) stages<3>(tile, start, end, d);
  for (std::int64_t block = start; block < end; block += 2 * d)
    for (std::int64_t apart = d; apart; apart /= 8) stages<3>(tile, block, block + 2 * d < end ? block + 2 * d : end, apart);
}

// Merge two sorted halves of size elements. After the first stages its eighths are independent, and smaller than the caches.
template <class V, bool Guarded>
static void merge(Tile<V, Guarded> tile, std::int64_t start, std::int64_t size) {
  const std::int64_t end = Guarded && tile.n < start + size ? tile.n : start + size, eighth = size / 8;
  first_stages(tile, start, size);
  if (size * static_cast<std::int64_t>(sizeof(V)) <= 1 << 18) return finish(tile, start, end, eighth / 2);
  for (std::int64_t block = start; block < end; block += eighth)
    finish(tile, block, block + eighth < end ? block + eighth : end, eighth / 2);
}

template <class V>
static inline void sort8(V* e) {
  constexpr int pairs[19][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {1, 2}, {5, 6},
                                {0, 4}, {1, 5}, {2, 6}, {3, 7}, {2, 4}, {3, 5}, {1, 2}, {3, 4}, {5, 6}};
#pragma GCC unroll 19
  for (int i = 0; i < 19; i++) exchange(e[pairs[i][0]], e[pairs[i][1]]);
}

// Sort the elements from start to start + size (a power of two, at least eight), halves first; n is a multiple of eight.
template <class V>
static void sort_tile(V* data, std::int64_t n, V largest, std::int64_t start, std::int64_t size) {
  if (size == 8) {
    V e[8];
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) e[j] = data[start + j];
    sort8(e);
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) data[start + j] = e[j];
    return;
  }
  sort_tile(data, n, largest, start, size / 2);
  if (start + size / 2 >= n) return;
  sort_tile(data, n, largest, start + size / 2, size / 2);
  if (start + size <= n)
    merge(Tile<V, false>{data, n, largest}, start, size);
  else
    merge(Tile<V, true>{data, n, largest}, start, size);
}

template <class V>
static void sort_lanes(V* data, std::int64_t n, V largest) {
  std::int64_t size = 8;
  while (size < n) size *= 2;
  sort_tile(data, n, largest, 0, size);
}

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

// Keys of one half of a tile: doubles in [1, 2) whose mantissa is the value, then the position.
static void pack(const Ints* tile, int half, std::int64_t padded, Keys* keys) {
  const std::int32_t* flat = reinterpret_cast<const std::int32_t*>(tile) + half * HALF;
  Bits* bits = reinterpret_cast<Bits*>(keys);
  for (std::int64_t i = 0; i < padded; i++) {
    HalfInts some;
    std::memcpy(&some, flat + i * LANES, BYTES / 2);
    const Bits value = __builtin_convertvector(some, Bits);
    bits[i] = ((value + (std::int64_t{1} << 31)) << POSITION_BITS) | i | (std::int64_t{0x3ff} << 52);
  }
}

// Values of sorted keys, back in their half of the tile.
static void unpack(const Keys* keys, int half, std::int64_t n, Ints* tile) {
  std::int32_t* flat = reinterpret_cast<std::int32_t*>(tile) + half * HALF;
  const Bits* bits = reinterpret_cast<const Bits*>(keys);
  for (std::int64_t i = 0; i < n; i++) {
    const Bits value = (bits[i] >> POSITION_BITS) - (std::int64_t{1} << 31);
    const HalfInts some = __builtin_convertvector(value, HalfInts);
    std::memcpy(flat + i * LANES, &some, BYTES / 2);
  }
}

// Sort a tile of ordered integers; its values become floats again, the positions stay in the keys, if there are any.
static void sort_values(std::int64_t count, std::int64_t n, Ints* tile, Keys* keys) {
  const std::int64_t padded = padded_length(n);
  if (keys) {
    for (int half = 0; half < (count > HALF ? 2 : 1); half++) {
      Keys* own = keys + half * padded;
      pack(tile, half, padded, own);
      sort_lanes(own, padded, Keys{} + 2.0);
      unpack(own, half, n, tile);
    }
  } else {
    sort_lanes(tile, padded, Ints{} + INT32_MAX);
  }
  for (std::int64_t i = 0; i < n; i++) tile[i] = ordered(tile[i]);
}

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

static inline std::int64_t position(const Keys* keys, std::int64_t n, std::int64_t i, int lane) {
  std::int64_t bits;
  std::memcpy(&bits, reinterpret_cast<const double*>(keys + lane / HALF * padded_length(n) + i) + lane % HALF, 8);
  return bits & ((std::int64_t{1} << POSITION_BITS) - 1);
}

// Write a tile back to its rows, each element at its position.
static void scatter(const float* flat, const Keys* keys, std::int64_t count, std::int64_t n, float* rows) {
  for (int lane = 0; lane < count; lane++)
    for (std::int64_t i = 0; i < n; i++) rows[lane * n + position(keys, n, i, lane)] = flat[i * LANES + lane];
}

static void sort(const float* values, std::int64_t rows, std::int64_t n, float* sorted, std::int64_t* index) {
  Ints* tile = buffer<Ints>(0, n);
  Keys* keys = index ? buffer<Keys>(1, 2 * n) : nullptr;
  const float* flat = reinterpret_cast<const float*>(tile);
  for (std::int64_t first = 0; first < rows; first += LANES) {
    const std::int64_t count = rows - first < LANES ? rows - first : LANES;
    load_tile(values + first * n, count, n, tile);
    sort_values(count, n, tile, keys);
    for (int lane = 0; lane < count; lane++)
      for (std::int64_t i = 0; i < n; i++) {
        sorted[(first + lane) * n + i] = flat[i * LANES + lane];
        if (index) index[(first + lane) * n + i] = position(keys, n, i, lane);
      }
  }
}

static void solve(float* u, float* v, std::int64_t rows, std::int64_t n, double order, bool need_u, bool need_v, float* costs) {
  Ints *u_tile = buffer<Ints>(0, n), *v_tile = buffer<Ints>(2, n);
  Keys* u_keys = need_u ? buffer<Keys>(1, 2 * n) : nullptr;
  Keys* v_keys = need_v ? buffer<Keys>(3, 2 * n) : nullptr;
  float* slopes = reinterpret_cast<float*>(u_tile);
  for (std::int64_t first = 0; first < rows; first += LANES) {
    const std::int64_t count = rows - first < LANES ? rows - first : LANES;
    load_tile(u + first * n, count, n, u_tile);
    load_tile(v + first * n, count, n, v_tile);
    sort_values(count, n, u_tile, u_keys);
    sort_values(count, n, v_tile, v_keys);
    compare(slopes, reinterpret_cast<const float*>(v_tile), n, order, costs + first, count);
    if (need_u) scatter(slopes, u_keys, count, n, u + first * n);
    if (need_v) scatter(slopes, v_keys, count, n, v + first * n);
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
static void pull_back(const float* slopes, const Keys* keys, std::int64_t count, std::int64_t n, int dim, const float* theta,
                      const float* weights, float* grad) {
  for (int lane = 0; lane < count; lane++) {
    Four direction[FOURS] = {};
    std::memcpy(direction, theta + lane * dim, dim * sizeof(float));
    if (weights)
      for (int q = 0; q < FOURS; q++) direction[q] *= weights[lane];
    for (std::int64_t i = 0; i < n; i++) {
      Four* to = reinterpret_cast<Four*>(grad) + position(keys, n, i, lane) * FOURS;
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
static void weigh(const float* slopes, const Keys* keys, std::int64_t count, std::int64_t n, int dim, const float* x, double scale,
                  const float* weights, float* grad) {
  for (int lane = 0; lane < count; lane++) {
    double sum[4 * FOURS] = {};
    for (std::int64_t i = 0; i < n; i++) {
      const float* from = x + position(keys, n, i, lane) * 4 * FOURS;
      for (int k = 0; k < 4 * FOURS; k++) sum[k] += static_cast<double>(slopes[i * LANES + lane]) * from[k];
    }
    for (int k = 0; k < dim; k++) grad[lane * dim + k] += static_cast<float>((weights ? scale * weights[lane] : scale) * sum[k]);
  }
}

// Sum over ranks of |x - y|^order between the samples of a rank, of every lane.
template <int FOURS>
static void lift(const Keys* x_keys, const Keys* y_keys, std::int64_t count, std::int64_t n, const float* x, const float* y, double order,
                 float* costs) {
  for (int lane = 0; lane < count; lane++) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; i++) {
      const Four* a = reinterpret_cast<const Four*>(x) + position(x_keys, n, i, lane) * FOURS;
      const Four* b = reinterpret_cast<const Four*>(y) + position(y_keys, n, i, lane) * FOURS;
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
  Keys* x_keys = keep_x ? buffer<Keys>(1, 2 * n) : nullptr;
  Keys* y_keys = keep_y ? buffer<Keys>(3, 2 * n) : nullptr;
  float* slopes = reinterpret_cast<float*>(x_tile);
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
      sort_values(count, n, x_tile, x_keys);
      sort_values(count, n, y_tile, y_keys);
      if (s.lifted) {
        lift<FOURS>(x_keys, y_keys, count, n, x_rows, y_rows, s.order, s.costs + at);
        continue;
      }
      compare(slopes, reinterpret_cast<const float*>(y_tile), n, s.order, s.costs + at, count);
      if (x_part) pull_back<FOURS>(slopes, x_keys, count, n, s.dim, theta, weights, x_part);
      if (y_part) pull_back<FOURS>(slopes, y_keys, count, n, s.dim, theta, weights, y_part);
      if (s.x_slopes) scatter(slopes, x_keys, count, n, s.x_slopes + at * n);
      if (s.y_slopes) scatter(slopes, y_keys, count, n, s.y_slopes + at * n);
      if (s.theta_grad) {
        float* grad = s.theta_grad + at * s.dim;
        std::memset(grad, 0, count * s.dim * sizeof(float));
        weigh<FOURS>(slopes, x_keys, count, n, s.dim, x_rows, s.scale, weights, grad);
        weigh<FOURS>(slopes, y_keys, count, n, s.dim, y_rows, -s.scale, weights, grad);
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
