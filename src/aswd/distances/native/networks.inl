// Sorting networks over rows, one row per lane of a vector register. Included by lanes.inl.
//
// BYTES is the width of a register. A tile holds the elements of LANES rows, element i of all rows next to each other; the comparators
// of a bitonic network are then minima and maxima of whole registers, with no shuffles and no branches. The first stage of every merge
// compares mirrored elements, so that all comparators sort upwards, and rows of any length behave as if padded with larger elements.

typedef double Keys __attribute__((vector_size(BYTES)));        // LANES / 2 rows with positions
typedef std::int64_t Bits __attribute__((vector_size(BYTES)));  // the same, as bits
typedef std::int32_t Ints __attribute__((vector_size(BYTES)));  // LANES rows without positions
typedef std::uint32_t Unsigned __attribute__((vector_size(BYTES)));
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
