// Optimal transport on the line for many rows of float32, in one call without the interpreter's lock: sort both sides, compare ranks, and
// carry the slopes of the cost back to the positions of the samples; around it the inner loop of the ASWD. kernel.py calls it; where it
// cannot be built, numpy and torch do the same.

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>

#if !defined(__x86_64__) || !defined(__GNUC__) || defined(__clang__)
#error "written for GCC on x86-64; elsewhere numpy sorts"
#endif
#include <immintrin.h>

namespace {

constexpr int POSITION_BITS = 20;  // of a key's 52; 32 are the value
constexpr int MAX_DIM = 32;

typedef float Four __attribute__((vector_size(16)));
typedef float EightFloats __attribute__((vector_size(32)));
typedef float Sixteen __attribute__((vector_size(64)));
typedef double Eight __attribute__((vector_size(64)));

// The networks sort multiples of eight elements.
std::int64_t padded_length(std::int64_t n) { return (n + 7) / 8 * 8; }

#include "pool.inl"

// Samples [replicas][dim][samples], with the distances between replicas and between coordinates.
struct Side {
  const float* values;
  std::int64_t replica, row;
};

// Slices of replicas of two sets of samples; several threads take units of slices from `items`, until there are no more.
struct Sliced {
  Side x, y;
  const float* theta;    // [replicas][slices][dim]
  const float* weights;  // [replicas][slices]: of the slices in the gradients; or null
  std::int64_t replicas, samples, slices, unit;
  int dim;  // at most MAX_DIM
  double order;
  float* costs;              // [replicas][slices]: sums over ranks
  float *x_parts, *y_parts;  // [replicas][units][dim][stride]: sums of slope * theta; or null
  float* theta_grad;         // [replicas][slices][dim]: sums over samples of slope * (x - y); or null
  float *x_slopes, *y_slopes;  // [replicas][slices][samples]: the slopes themselves, both with the sign of x's; or null
  float* y_sorted;             // [replicas][slices up to a multiple of 16][samples], tile by tile: values of y; or null
  bool y_known;                // whether they are there, or are to be written
  bool lifted;                 // costs are sums of |x - y|^order between the samples that are matched, and there are no other outputs
  double scale;                // of the gradients
  bool wide;                   // registers
  Items items{};

  std::int64_t units() const { return (slices + unit - 1) / unit; }
  std::int64_t stride() const { return (samples + 15) / 16 * 16; }  // whole registers and cache lines
  std::int64_t kept() const { return (slices + 15) / 16 * 16 * samples; }
  std::int64_t part() const { return dim * stride(); }
};

// Working memory of this thread, 64-byte aligned; it grows, and is kept.
char* scratch(int which, std::int64_t bytes) {
  struct Buffer {
    std::unique_ptr<char[]> memory;
    std::int64_t size = 0;
  };
  static thread_local Buffer buffers[16];
  Buffer& kept = buffers[which];
  if (kept.size < bytes + 64) kept.memory.reset(new char[kept.size = bytes + 64]);
  const auto address = reinterpret_cast<std::uintptr_t>(kept.memory.get());
  return kept.memory.get() + (64 - address % 64) % 64;
}

#include "digits.inl"

#pragma GCC push_options
#pragma GCC target("avx2")
namespace avx2 {
#define BYTES 32
#include "lanes.inl"
#undef BYTES
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")
namespace avx512 {
#define BYTES 64
#include "lanes.inl"
#undef BYTES
}  // namespace avx512
#pragma GCC pop_options

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
}

// Whether to use the wide registers for rows of n: only while a tile fits into the first caches.
bool wide(std::int64_t n, int bytes) {
  static const bool can = has_avx512();
  return can && (bytes ? bytes == 64 : n <= 1024);
}

// How many of the last rows to sort by their digits: all long ones, if both sides keep positions, else those that would leave most lanes
// of a register empty.
std::int64_t sorted_alone(std::int64_t rows, std::int64_t n, bool keep_u, bool keep_v) {
  if (n <= avx2::MOST_SHORT) return 0;
  return keep_u && keep_v ? rows : rows % 8 <= 4 ? rows % 8 : 0;
}

// Sums of parts over the units of a replica, a block of samples of one side at a time; threads take blocks from `items`.
struct Sums {
  static constexpr std::int64_t BLOCK = 128;
  const Sliced& s;
  float *x_grad, *y_grad;  // [replicas][dim][row]; or null
  std::int64_t row;
  Items items{};

  std::int64_t blocks() const { return (s.samples + BLOCK - 1) / BLOCK; }
  std::int64_t count() const { return s.replicas * blocks() * 2; }

  void work() {
    const std::int64_t units = s.units();
    float sums[BLOCK];
    for (std::int64_t item; (item = items.take()) >= 0;) {
      const std::int64_t replica = item / (2 * blocks()), first = item % blocks() * BLOCK, size = std::min(BLOCK, s.samples - first);
      const bool is_y = item / blocks() % 2;
      float* grad = is_y ? y_grad : x_grad;
      if (!grad) continue;
      const float scale = static_cast<float>(is_y ? -s.scale : s.scale);
      for (int k = 0; k < s.dim; k++) {
        const float* parts = (is_y ? s.y_parts : s.x_parts) + replica * units * s.part() + k * s.stride() + first;
        std::memcpy(sums, parts, size * sizeof(float));
        for (std::int64_t unit = 1; unit < units; unit++)
          for (std::int64_t i = 0; i < size; i++) sums[i] += parts[unit * s.part() + i];
        for (std::int64_t i = 0; i < size; i++) grad[(replica * s.dim + k) * row + first + i] = scale * sums[i];
      }
    }
  }
};

}  // namespace

extern "C" {

// Version of these functions: kernel.py uses no library of another one.
int aswd_interface() { return 5; }

// Width in bytes of the widest registers that this processor has: 64, 32, or 0 where the functions below must not be called.
int aswd_register_bytes() { return has_avx512() ? 64 : __builtin_cpu_supports("avx2") ? 32 : 0; }

// Largest number of elements of a row.
std::int64_t aswd_longest_row() { return std::int64_t{1} << POSITION_BITS; }

// Rows [rows, n] in ascending order and, if index is not null, their stable permutations. bytes: width of the registers, 0 to choose.
void aswd_sort(const float* values, std::int64_t rows, std::int64_t n, float* sorted, std::int64_t* index, int bytes) {
  const std::int64_t alone = sorted_alone(rows, n, index, index), first = rows - alone;
  if (first) (wide(n, bytes) ? avx512::sort : avx2::sort)(values, first, n, sorted, index);
  sort_long(values + first * n, alone, n, sorted + first * n, index ? index + first * n : nullptr);
}

// Sum over ranks of |u - v|^order of every row; u (v) is overwritten with slopes |u - v|^(order - 1) sign(u - v) where needed.
void aswd_solve(float* u, float* v, std::int64_t rows, std::int64_t n, double order, int need_u, int need_v, float* costs, int bytes) {
  const std::int64_t alone = sorted_alone(rows, n, need_u, need_v), first = rows - alone;
  if (first) (wide(n, bytes) ? avx512::solve : avx2::solve)(u, v, first, n, order, need_u, need_v, costs);
  solve_long(u + first * n, v + first * n, alone, n, order, need_u, need_v, costs + first);
}

// All slices of replicas in up to `threads` threads. x_grad, y_grad [replicas][dim][row] are the gradients of the sum of costs, but for the
// factor order / scale; or null. Parts are held for as many replicas at a time as fit into `most` floats, at least one.
void aswd_sliced(const float* x, std::int64_t x_replica, std::int64_t x_row, const float* y, std::int64_t y_replica, std::int64_t y_row,
                 const float* theta, const float* weights, std::int64_t replicas, std::int64_t samples, std::int64_t slices, std::int64_t unit, int dim,
                 double order, double scale, float* costs, float* x_grad, float* y_grad, std::int64_t row, float* theta_grad,
                 float* x_slopes, float* y_slopes, float* y_sorted, int y_known, int lifted, std::int64_t most, std::int64_t threads, int bytes) {
  Sliced s{{x, x_replica, x_row}, {y, y_replica, y_row}, theta, weights, replicas, samples, slices, unit, dim, order, costs};
  s.y_known = y_known != 0, s.lifted = lifted != 0, s.scale = scale, s.wide = wide(samples, bytes);
  const std::int64_t parts = s.units() * s.part(), sides = (x_grad ? 1 : 0) + (y_grad ? 1 : 0);
  const std::int64_t group = sides ? std::max<std::int64_t>(1, std::min(replicas, most / (parts * sides))) : replicas;
  if (x_grad) s.x_parts = reinterpret_cast<float*>(scratch(10, group * parts * sizeof(float)));
  if (y_grad) s.y_parts = reinterpret_cast<float*>(scratch(11, group * parts * sizeof(float)));
  for (std::int64_t first = 0; first < replicas; first += group) {
    s.replicas = std::min(group, replicas - first);
    s.x.values = x + first * x_replica, s.y.values = y + first * y_replica;
    s.theta = theta + first * slices * dim, s.costs = costs + first * slices;
    s.weights = weights ? weights + first * slices : nullptr;
    s.theta_grad = theta_grad ? theta_grad + first * slices * dim : nullptr;
    s.x_slopes = x_slopes ? x_slopes + first * slices * samples : nullptr;
    s.y_slopes = y_slopes ? y_slopes + first * slices * samples : nullptr;
    s.y_sorted = y_sorted ? y_sorted + first * s.kept() : nullptr;
    const auto work = [](void* given) {
      Sliced& s = *static_cast<Sliced*>(given);
      s.wide ? avx512::sliced(s) : avx2::sliced(s);
    };
    s.items.begin(s.replicas * s.units(), threads);
    pool().run(std::min(threads, s.replicas * s.units()), work, &s);
    if (!sides) continue;
    Sums sums{s, x_grad ? x_grad + first * dim * row : nullptr, y_grad ? y_grad + first * dim * row : nullptr, row};
    const std::int64_t worth = s.replicas * parts * sides / 16384;  // less is not worth to share
    sums.items.begin(sums.count(), threads);
    pool().run(std::min({threads, sums.count(), worth}), [](void* given) { static_cast<Sums*>(given)->work(); }, &sums);
  }
}
}

#include "ascent.inl"
