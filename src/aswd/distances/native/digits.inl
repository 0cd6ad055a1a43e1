// Long rows, one by one: sorted by their digits, the lowest first. Included by rows.cpp.

constexpr int DIGIT_BITS = 11, DIGITS = 3;

// The order of floats as that of unsigned integers, and back; -0.0 becomes 0.0 before.
static inline std::uint32_t rank_bits(float value) {
  value += 0.0f;
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static inline float value_of(std::uint32_t rank) {
  const std::uint32_t bits = rank & 0x80000000u ? rank & 0x7fffffffu : ~rank;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

static inline std::uint32_t digit(std::uint32_t rank, int which) { return rank >> (which * DIGIT_BITS) & ((1 << DIGIT_BITS) - 1); }

// A row in ascending order and, if Item has 64 bits, the stable permutation that sorts it: an item is a rank, then the position.
template <class Item>
static void sort_row(const float* row, std::int64_t n, float* sorted, std::int32_t* positions) {
  constexpr int RANK = sizeof(Item) * 8 - 32;
  std::uint32_t next[DIGITS][1 << DIGIT_BITS] = {};  // where the next item with a digit goes
  for (std::int64_t i = 0; i < n; i++) {
    const std::uint32_t rank = rank_bits(row[i]);
    for (int which = 0; which < DIGITS; which++) next[which][digit(rank, which)]++;
  }
  for (auto& digits : next) {
    std::uint32_t sum = 0;
    for (std::uint32_t& count : digits) {
      const std::uint32_t first = sum;
      sum += count;
      count = first;
    }
  }
  Item *some = reinterpret_cast<Item*>(scratch(4, n * sizeof(Item))), *others = reinterpret_cast<Item*>(scratch(5, n * sizeof(Item)));
  for (std::int64_t i = 0; i < n; i++) {
    const std::uint32_t rank = rank_bits(row[i]);
    some[next[0][digit(rank, 0)]++] = RANK ? static_cast<Item>(static_cast<std::uint64_t>(rank) << RANK | i) : rank;
  }
  for (std::int64_t i = 0; i < n; i++) others[next[1][digit(static_cast<std::uint32_t>(some[i] >> RANK), 1)]++] = some[i];
  for (std::int64_t i = 0; i < n; i++) {
    const std::uint32_t rank = static_cast<std::uint32_t>(others[i] >> RANK), to = next[2][digit(rank, 2)]++;
    sorted[to] = value_of(rank);
    if (RANK) positions[to] = static_cast<std::int32_t>(others[i]);
  }
}

// One side of a slice: after sort() its values in ascending order, with the positions where they were if `keep`.
struct RankedRow {
  float* values;
  std::int32_t* positions;

  RankedRow(int side, std::int64_t n, bool keep)
      : values(reinterpret_cast<float*>(scratch(2 * side, n * sizeof(float)))),
        positions(keep ? reinterpret_cast<std::int32_t*>(scratch(2 * side + 1, n * sizeof(std::int32_t))) : nullptr) {}
  void sort(const float* row, std::int64_t n) {
    (positions ? sort_row<std::uint64_t> : sort_row<std::uint32_t>)(row, n, values, positions);
  }
};

// As `sort` and `solve` of lanes.inl, to the same bits.
static void sort_long(const float* values, std::int64_t rows, std::int64_t n, float* sorted, std::int64_t* index) {
  if (!rows) return;
  RankedRow side(0, n, index);
  for (std::int64_t row = 0; row < rows; row++) {
    side.sort(values + row * n, n);
    std::memcpy(sorted + row * n, side.values, n * sizeof(float));
    for (std::int64_t i = 0; index && i < n; i++) index[row * n + i] = side.positions[i];
  }
}

static void solve_long(float* u, float* v, std::int64_t rows, std::int64_t n, double order, bool need_u, bool need_v, float* costs) {
  if (!rows) return;
  RankedRow u_side(0, n, need_u), v_side(1, n, need_v);
  for (std::int64_t row = 0; row < rows; row++, u += n, v += n) {
    u_side.sort(u, n);
    v_side.sort(v, n);
    double cost = 0;
    for (std::int64_t i = 0; i < n; i++) {
      const float difference = u_side.values[i] - v_side.values[i];
      float slope = difference;
      if (order == 2) {
        cost += static_cast<double>(difference) * difference;
      } else {
        const float size = std::fabs(difference);
        const float power = order == 1 ? (size > 0 ? 1.0f : size) : std::pow(size, static_cast<float>(order - 1));
        slope = std::copysign(power, difference);
        cost += static_cast<double>(power) * size;
      }
      if (need_u) u[u_side.positions[i]] = slope;
      if (need_v) v[v_side.positions[i]] = slope;
    }
    costs[row] = static_cast<float>(cost);
  }
}
