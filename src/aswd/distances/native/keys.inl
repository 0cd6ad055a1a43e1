// Tiles sorted with the positions of their elements. Included by lanes.inl.

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

// Values and positions of sorted keys, in their half of the tiles.
static void unpack(const Keys* keys, int half, std::int64_t n, Ints* sorted, Ints* positions) {
  const Bits* bits = reinterpret_cast<const Bits*>(keys);
  for (std::int64_t i = 0; i < n; i++) {
    const Bits value = (bits[i] >> POSITION_BITS) - (std::int64_t{1} << 31);
    const HalfInts some = __builtin_convertvector(value, HalfInts);
    const HalfInts at = __builtin_convertvector(bits[i] & ((std::int64_t{1} << POSITION_BITS) - 1), HalfInts);
    std::memcpy(reinterpret_cast<std::int32_t*>(sorted + i) + half * HALF, &some, BYTES / 2);
    std::memcpy(reinterpret_cast<std::int32_t*>(positions + i) + half * HALF, &at, BYTES / 2);
  }
}

// How a tile is sorted with its positions. Short keys have 31 bits for a value's step and its position; values in the same step are
// ordered afterwards. Steps are of equal width, or, where too many values share one, of equal numbers of floats.
enum Method { EQUAL_STEPS, FLOAT_STEPS, LONG_KEYS };
constexpr std::int64_t MOST_SHORT = 8192;  // elements of a row with short keys
constexpr int MOST_PASSES = 12;

// Short keys of all elements, by the steps of every row; false if there are none for these values.
static bool short_keys(const Ints* tile, std::int64_t n, int position_bits, Method method, Ints* keys) {
  Ints low = tile[0], high = tile[0];
  for (std::int64_t i = 1; i < n; i++) low = lower(low, tile[i]), high = higher(high, tile[i]);
  const int step_bits = 31 - position_bits;
  const std::int32_t infinite = 0x7f800000;
  for (int lane = 0; lane < LANES; lane++)
    if (high[lane] >= infinite || low[lane] <= (infinite ^ -1)) return false;
  if (method == FLOAT_STEPS) {
    Ints shift;
    for (int lane = 0; lane < LANES; lane++) {
      const std::uint32_t range = static_cast<std::uint32_t>(high[lane]) - static_cast<std::uint32_t>(low[lane]);
      shift[lane] = 0;
      while ((range >> shift[lane]) >= (std::uint32_t{1} << step_bits) - 1) shift[lane]++;
    }
    for (std::int64_t i = 0; i < n; i++)
      keys[i] = (Ints)(((Unsigned)tile[i] - (Unsigned)low) >> (Unsigned)shift) << position_bits | static_cast<std::int32_t>(i);
  } else {
    const Floats first = (Floats)ordered(low), range = (Floats)ordered(high) - first;
    Floats scale;
    for (int lane = 0; lane < LANES; lane++) {
      scale[lane] = range[lane] > 0 ? static_cast<float>((1 << step_bits) - 2) / range[lane] : 0.0f;
      if (!(std::fabs(range[lane]) <= 3e38f && scale[lane] <= 3e38f)) return false;
    }
    for (std::int64_t i = 0; i < n; i++) {
      const Ints step = __builtin_convertvector(((Floats)ordered(tile[i]) - first) * scale, Ints);
      keys[i] = step << position_bits | static_cast<std::int32_t>(i);
    }
  }
  for (std::int64_t i = n; i < padded_length(n); i++) keys[i] = Ints{} + INT32_MAX;
  return true;
}

// The elements of a tile of ordered integers at the positions given, as floats.
static inline Floats gather(const Ints* tile, Ints positions) {
  Ints at;
  for (int lane = 0; lane < LANES; lane++) at[lane] = lane;
  at += positions * LANES;
#if BYTES == 64
  return (Floats)ordered((Ints)_mm512_i32gather_epi32((__m512i)at, tile, 4));
#else
  return (Floats)ordered((Ints)_mm256_i32gather_epi32(reinterpret_cast<const int*>(tile), (__m256i)at, 4));
#endif
}

static inline bool any(Ints mask) {
  std::int64_t parts[BYTES / 8], all = 0;
  std::memcpy(parts, &mask, BYTES);
  for (std::int64_t part : parts) all |= part;
  return all != 0;
}

// Carry the larger of neighbours upwards, once, from load(i) to sorted and positions; whether any two were exchanged.
template <class Load>
static inline bool bubble(std::int64_t n, Load load, Floats* sorted, Ints* positions) {
  Floats value, next;
  Ints at, next_at, exchanged = {};
  load(0, value, at);
  for (std::int64_t i = 1; i < n; i++) {
    load(i, next, next_at);
    const Ints above = value > next;
    sorted[i - 1] = above ? next : value, positions[i - 1] = above ? next_at : at;
    value = above ? value : next, at = above ? at : next_at;
    exchanged |= above;
  }
  sorted[n - 1] = value, positions[n - 1] = at;
  return any(exchanged);
}

// Sort with short keys; false if values are not finite, or too many share a step.
static bool sort_short(const Ints* tile, std::int64_t n, Method method, Floats* sorted, Ints* positions) {
  int bits = 0;
  while ((std::int64_t{1} << bits) < n) bits++;
  Ints* keys = buffer<Ints>(6, n);
  if (!short_keys(tile, n, bits, method, keys)) return false;
  sort_lanes(keys, padded_length(n), Ints{} + INT32_MAX);
  const std::int32_t mask = (1 << bits) - 1;
  const auto from_keys = [=](std::int64_t i, Floats& value, Ints& at) {
    at = keys[i] & mask;
    value = gather(tile, at);
  };
  const auto in_place = [=](std::int64_t i, Floats& value, Ints& at) { value = sorted[i], at = positions[i]; };
  bool moves = bubble(n, from_keys, sorted, positions);
  for (int pass = 1; moves && pass < MOST_PASSES; pass++) moves = bubble(n, in_place, sorted, positions);
  return !moves;
}

// A tile of ordered integers in ascending order, as floats, in memory of the tile or of `sorted`; and, if positions is not null, where the
// elements were. `method` is where to begin; where it does not do, the next one is taken, also for the tiles that follow.
static float* sort_values(std::int64_t count, std::int64_t n, Ints* tile, Ints* positions, Floats* sorted, Method& method) {
  const std::int64_t padded = padded_length(n);
  if (!positions) {
    sort_lanes(tile, padded, Ints{} + INT32_MAX);
    for (std::int64_t i = 0; i < n; i++) tile[i] = ordered(tile[i]);
    return reinterpret_cast<float*>(tile);
  }
  if (n > MOST_SHORT) method = LONG_KEYS;
  for (; method != LONG_KEYS; method = static_cast<Method>(method + 1))
    if (sort_short(tile, n, method, sorted, positions)) return reinterpret_cast<float*>(sorted);
  Keys* keys = buffer<Keys>(6, n);
  Ints* values = reinterpret_cast<Ints*>(sorted);
  for (int half = 0; half < (count > HALF ? 2 : 1); half++) {
    pack(tile, half, padded, keys);
    sort_lanes(keys, padded, Keys{} + 2.0);
    unpack(keys, half, n, values, positions);
  }
  for (std::int64_t i = 0; i < n; i++) values[i] = ordered(values[i]);
  return reinterpret_cast<float*>(sorted);
}
