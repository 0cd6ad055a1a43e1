// Optimal transport on the line for many rows of float32, in one call without the interpreter's lock: sort both sides, compare ranks, and
// carry the slopes of the cost back to the positions of the samples. kernel.py calls it; where it cannot be built, numpy does the same.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#if !defined(__x86_64__) || !defined(__GNUC__) || defined(__clang__)
#error "written for GCC on x86-64; elsewhere numpy sorts"
#endif
#include <immintrin.h>

namespace {

constexpr int POSITION_BITS = 20;  // of a key's 52; 32 are the value
constexpr int MAX_DIM = 16;

typedef float Four __attribute__((vector_size(16)));

// The networks sort multiples of eight elements.
std::int64_t padded_length(std::int64_t n) { return (n + 7) / 8 * 8; }

// Slices of replicas of two sets of samples; several threads take units of slices from `next`, until there are no more.
struct Sliced {
  const float *x, *y;   // [replicas][dim][samples]
  const float* theta;   // [replicas][slices][dim]
  std::int64_t replicas, samples, slices, unit;
  int dim;  // at most MAX_DIM
  double order;
  float* costs;              // [replicas][slices]: sums over ranks
  float *x_parts, *y_parts;  // [replicas][units][samples][dim, rounded up to a multiple of four]: sums of slope * theta; or null
  float* theta_grad;         // [replicas][slices][dim]: sums over samples of slope * (x - y); or null
  float *x_slopes, *y_slopes;  // [replicas][slices][samples]: the slopes themselves, both with the sign of x's; or null
  bool lifted;                 // costs are sums of |x - y|^order between the samples that are matched, and there are no other outputs
  std::int64_t* next;
};

// Working memory of this thread, 64-byte aligned; it grows, and is kept.
char* scratch(int which, std::int64_t bytes) {
  struct Buffer {
    std::unique_ptr<char[]> memory;
    std::int64_t size = 0;
  };
  static thread_local Buffer buffers[6];
  Buffer& kept = buffers[which];
  if (kept.size < bytes + 64) kept.memory.reset(new char[kept.size = bytes + 64]);
  const auto address = reinterpret_cast<std::uintptr_t>(kept.memory.get());
  return kept.memory.get() + (64 - address % 64) % 64;
}

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

}  // namespace

extern "C" {

// Version of these functions: kernel.py uses no library of another one.
int aswd_interface() { return 2; }

// Width in bytes of the widest registers that this processor has: 64, 32, or 0 where the functions below must not be called.
int aswd_register_bytes() { return has_avx512() ? 64 : __builtin_cpu_supports("avx2") ? 32 : 0; }

// Largest number of elements of a row.
std::int64_t aswd_longest_row() { return std::int64_t{1} << POSITION_BITS; }

// Rows [rows, n] in ascending order and, if index is not null, their stable permutations. bytes: width of the registers, 0 to choose.
void aswd_sort(const float* values, std::int64_t rows, std::int64_t n, float* sorted, std::int64_t* index, int bytes) {
  (wide(n, bytes) ? avx512::sort : avx2::sort)(values, rows, n, sorted, index);
}

// Sum over ranks of |u - v|^order of every row; u (v) is overwritten with slopes |u - v|^(order - 1) sign(u - v) where needed.
void aswd_solve(float* u, float* v, std::int64_t rows, std::int64_t n, double order, int need_u, int need_v, float* costs, int bytes) {
  (wide(n, bytes) ? avx512::solve : avx2::solve)(u, v, rows, n, order, need_u, need_v, costs);
}

void aswd_sliced(const float* x, const float* y, const float* theta, std::int64_t replicas, std::int64_t samples, std::int64_t slices,
                 std::int64_t unit, int dim, double order, float* costs, float* x_parts, float* y_parts, float* theta_grad,
                 float* x_slopes, float* y_slopes, int lifted, std::int64_t* next, int bytes) {
  const Sliced s{x,       y,       theta,      replicas, samples,  slices, unit, dim, order, costs,
                 x_parts, y_parts, theta_grad, x_slopes, y_slopes, lifted != 0, next};
  wide(samples, bytes) ? avx512::sliced(s) : avx2::sliced(s);
}
}
