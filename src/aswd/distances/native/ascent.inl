// The inner loop of the augmented distances for many replicas: Adam ascent of (S mean_l W_k^k)^(1/k) - penalty, a function of the weight and
// the bias of g(x) = [x, a(W x + b)] or g(x) = a(W x + b). augmented.py, penalties.py and maximiser.py say the same in operations of torch.

namespace {

enum Activation { NONE, RELU, LEAKY_RELU, TANH };
enum PenaltyForm { MEAN_NORM, MOMENT, ALGORITHM1 };

struct Ascent {
  const float* samples;  // [replicas][dim][2 size]: those of x, then those of y
  std::int64_t replicas, size;
  int dim, outputs, copied;  // of x; of the layer; coordinates of x that features begin with: dim or 0
  Activation activation;
  double order;
  const float* strength;  // [replicas]: lambda; or null
  PenaltyForm form;
  float *weight, *bias;         // [replicas][outputs][dim], [replicas][outputs]
  float *features, *gradients;  // [replicas][width][2 size]; gradients: of the mean cost
  double* powers;               // [replicas][2 blocks]: sums of the norms' k-th powers
  double* factors;              // [replicas][3]: of the gradients, and of the slopes of the penalty of both sides
  double* sums;                 // [replicas][2 blocks][outputs][dim + 1]: parts of the gradients of weight and bias
  bool backward;
  Items items{};

  static constexpr std::int64_t BLOCK = 256;  // samples per unit of work
  int width() const { return copied + outputs; }
  int parameters() const { return outputs * (dim + 1); }
  std::int64_t blocks() const { return (size + BLOCK - 1) / BLOCK; }
  std::int64_t count() const { return replicas * 2 * blocks(); }

  // All blocks, in as many threads as they are worth; the parts of sums do not depend on the threads.
  void run(bool is_backward, std::int64_t threads) {
    backward = is_backward;
    items.begin(count(), threads);
    const std::int64_t worth = replicas * 2 * size * width() * (dim + 1) / 32768;
    pool().run(std::min({threads, count(), worth}), [](void* given) { static_cast<Ascent*>(given)->work(); }, this);
  }

  void work() {
    for (std::int64_t item; (item = items.take()) >= 0;) {
      const std::int64_t replica = item / (2 * blocks()), block = item % blocks() * BLOCK, side = item / blocks() % 2;
      const std::int64_t first = side * size + block, count = std::min(BLOCK, size - block);
      backward ? pull(item, replica, side, first, count) : push(item, replica, first, count);
    }
  }

  float* row(float* of, std::int64_t replica, int k) const { return of + (replica * width() + k) * 2 * size; }
  const float* sample_row(std::int64_t replica, int k) const { return samples + (replica * dim + k) * 2 * size; }

  // Outputs of the layer, and the penalty's sum of powers.
  void push(std::int64_t item, std::int64_t replica, std::int64_t first, std::int64_t count) {
    for (int o = 0; o < outputs; o++) {
      float* out = row(features, replica, copied + o) + first;
      const float* w = weight + (replica * outputs + o) * dim;
      for (std::int64_t i = 0; i < count; i++) out[i] = bias[replica * outputs + o];
      for (int k = 0; k < dim; k++) {
        const float* x = sample_row(replica, k) + first;
        for (std::int64_t i = 0; i < count; i++) out[i] += w[k] * x[i];
      }
      if (activation == RELU)
        for (std::int64_t i = 0; i < count; i++) out[i] = out[i] < 0 ? 0.0f : out[i];
      if (activation == LEAKY_RELU)
        for (std::int64_t i = 0; i < count; i++) out[i] = out[i] < 0 ? 0.01f * out[i] : out[i];
      if (activation == TANH)
        for (std::int64_t i = 0; i < count; i++) out[i] = std::tanh(out[i]);
    }
    if (!strength || form != MOMENT) return;
    float norm[BLOCK];
    norms(replica, first, count, norm);
    powers[item] = 0;
    for (std::int64_t i = 0; i < count; i++) powers[item] += order == 2 ? static_cast<double>(norm[i]) * norm[i] : std::pow(norm[i], order);
  }

  void norms(std::int64_t replica, std::int64_t first, std::int64_t count, float* norm) const {
    std::fill(norm, norm + count, 0.0f);
    for (int k = 0; k < width(); k++) {
      const float* feature = row(features, replica, k) + first;
      for (std::int64_t i = 0; i < count; i++) norm[i] += feature[i] * feature[i];
    }
    for (std::int64_t i = 0; i < count; i++) norm[i] = std::sqrt(norm[i]);
  }

  // Parts of the gradients of weight and bias.
  void pull(std::int64_t item, std::int64_t replica, std::int64_t side, std::int64_t first, std::int64_t count) {
    const double* factor = factors + 3 * replica;
    alignas(64) float shrink[BLOCK] = {}, grad[BLOCK] = {}, x[BLOCK] = {};  // zero beyond count
    if (strength) {
      float norm[BLOCK];
      norms(replica, first, count, norm);
      for (std::int64_t i = 0; i < count; i++) {
        const float power = form != MOMENT ? 1.0f : order == 2 ? norm[i] : static_cast<float>(std::pow(norm[i], order - 1));
        shrink[i] = norm[i] == 0 ? 0.0f : static_cast<float>(factor[1 + side]) * power / norm[i];
      }
    }
    const float slope = static_cast<float>(factor[0]);
    double* sum = sums + item * parameters();
    for (int o = 0; o < outputs; o++, sum += dim + 1) {
      const float *of_cost = row(gradients, replica, copied + o) + first, *out = row(features, replica, copied + o) + first;
      for (std::int64_t i = 0; i < count; i++) grad[i] = slope * of_cost[i] - shrink[i] * out[i];
      if (activation == RELU)
        for (std::int64_t i = 0; i < count; i++) grad[i] = out[i] > 0 ? grad[i] : 0.0f * grad[i];
      if (activation == LEAKY_RELU)
        for (std::int64_t i = 0; i < count; i++) grad[i] *= out[i] > 0 ? 1.0f : 0.01f;
      if (activation == TANH)
        for (std::int64_t i = 0; i < count; i++) grad[i] *= 1 - out[i] * out[i];
      for (int k = 0; k < dim; k++) {
        std::memcpy(x, sample_row(replica, k) + first, count * sizeof(float));
        sum[k] = dot(grad, x);
      }
      sum[dim] = dot(grad, nullptr);
    }
  }

  // Inner product of a block, or sum of it where x is null, in eight sums.
  static double dot(const float* grad, const float* x) {
    Eight parts = {};
    for (std::int64_t i = 0; i < BLOCK; i += 8) {
      EightFloats some, others;
      std::memcpy(&some, grad + i, sizeof(some));
      if (x) std::memcpy(&others, x + i, sizeof(others));
      const Eight wide = __builtin_convertvector(some, Eight);
      parts += x ? wide * __builtin_convertvector(others, Eight) : wide;
    }
    double total = 0;
    for (int j = 0; j < 8; j++) total += parts[j];
    return total;
  }

  // The factors of a replica from its costs.
  void set_factors(std::int64_t replica, const float* costs, std::int64_t slices, double objective) {
    double cost = 0;
    for (std::int64_t l = 0; l < slices; l++) cost += costs[replica * slices + l];
    cost /= static_cast<double>(slices) * size;
    double* factor = factors + 3 * replica;
    factor[0] = cost == 0 ? 0.0 : std::pow(cost * objective, 1 / order) / (order * std::max(cost, static_cast<double>(FLT_MIN)));
    if (!strength) return;
    for (int side = 0; side < 2; side++) {
      const double share = 1.0 / size;
      double slope = form == ALGORITHM1 ? std::pow(share, 1 / order) : share;
      if (form == MOMENT) {
        double power = 0;
        for (std::int64_t block = 0; block < blocks(); block++) power += powers[(2 * replica + side) * blocks() + block];
        slope *= power == 0 ? 0.0 : std::pow(share * power, 1 / order - 1);
      }
      factor[1 + side] = strength[replica] * slope;
    }
  }
};

// Adam's step upwards; as torch's, it keeps the moments of the gradient with its sign changed.
struct Adam {
  double lr, beta1, beta2;
  std::int64_t count;  // of steps, this one included

  void step(float* parameter, float* first, float* second, double grad) const {
    const float g = static_cast<float>(-grad), one = static_cast<float>(1 - beta1), two = static_cast<float>(1 - beta2);
    *first += one * (g - *first);
    *second = static_cast<float>(beta2) * *second + two * g * g;
    const double rate = lr / (1 - std::pow(beta1, count)), root = std::sqrt(1 - std::pow(beta2, count));
    *parameter -= static_cast<float>(rate) * *first / (std::sqrt(*second) / static_cast<float>(root) + 1e-8f);
  }
};

template <class T>
T* kept(int which, std::int64_t count) {
  return reinterpret_cast<T*>(scratch(which, count * sizeof(T)));
}

// The arguments of aswd_ascend.
struct Maximisation {
  const float* samples;
  std::int64_t replicas, size;
  int dim, outputs, copied, activation;
  const float* theta;
  std::int64_t slices, unit;
  double order, objective;
  const float* strength;
  int form;
  float *parameters[2], *first[2], *second[2];  // weight and bias, and their moments
  std::int64_t steps;
  Adam adam;
  std::int64_t most, threads;
  int bytes;
  Items items{};

  // The problem of `count` replicas alone.
  void take(std::int64_t replica, std::int64_t count, std::int64_t threads) const {
    Ascent a{samples + replica * dim * 2 * size,  count, size, dim, outputs, copied, static_cast<Activation>(activation), order,
             strength ? strength + replica : nullptr, static_cast<PenaltyForm>(form)};
    const std::int64_t width = a.width(), row = 2 * size, offset[2] = {replica * outputs * dim, replica * outputs};
    a.weight = parameters[0] + offset[0], a.bias = parameters[1] + offset[1];
    a.features = kept<float>(12, count * width * row), a.gradients = kept<float>(13, count * width * row);
    a.powers = kept<double>(14, a.count() * (1 + a.parameters()) + 3 * count);
    a.sums = a.powers + a.count(), a.factors = a.sums + a.count() * a.parameters();
    float* costs = kept<float>(15, count * slices);
    for (std::int64_t i = 0; i < count; i++)
      std::memcpy(a.features + i * width * row, a.samples + i * dim * row, copied * row * sizeof(float));
    for (std::int64_t step = 0; step < steps; step++) {
      a.run(false, threads);
      aswd_sliced(a.features, width * row, row, a.features + size, width * row, row, theta + (step * replicas + replica) * slices * width,
                  nullptr, count, size, slices, unit, static_cast<int>(width), order, order / size / slices, costs, a.gradients,
                  a.gradients + size, row, nullptr, nullptr, nullptr, nullptr, 0, 0, most, threads, bytes);
      for (std::int64_t i = 0; i < count; i++) a.set_factors(i, costs, slices, objective);
      a.run(true, threads);
      Adam now = adam;
      now.count += step + 1;
      for (std::int64_t i = 0; i < count; i++)
        for (int k = 0; k < a.parameters(); k++) {
          double grad = 0;
          for (std::int64_t block = 0; block < 2 * a.blocks(); block++) grad += a.sums[(i * 2 * a.blocks() + block) * a.parameters() + k];
          const int output = k / (dim + 1), column = k % (dim + 1), which = column == dim;
          const std::int64_t at = offset[which] + (i * outputs + output) * (which ? 1 : dim) + (which ? 0 : column);
          now.step(parameters[which] + at, first[which] + at, second[which] + at, grad);
        }
    }
  }
};

}  // namespace

extern "C" {

// `steps` steps of Adam, after `count`; theta [steps][replicas][slices][width]; moments are shaped like
// weight and bias. Many replicas are taken one after the other by each thread, few by all threads together.
void aswd_ascend(const float* samples, std::int64_t replicas, std::int64_t size, int dim, int outputs, int copied, int activation,
                 const float* theta, std::int64_t slices, std::int64_t unit, double order, double objective,
                 const float* strength, int form, float* weight, float* bias, float* weight_first, float* bias_first,
                 float* weight_second, float* bias_second, std::int64_t steps, double lr, double beta1, double beta2, std::int64_t count,
                 std::int64_t most, std::int64_t threads, int bytes) {
  Maximisation all{samples, replicas, size, dim, outputs, copied, activation, theta, slices, unit, order, objective,
                   strength, form, {weight, bias}, {weight_first, bias_first}, {weight_second, bias_second}, steps,
                   {lr, beta1, beta2, count}, most, threads, bytes};
  if (replicas < 4 * threads) return all.take(0, replicas, threads);
  all.items.begin(replicas, threads);
  const auto work = [](void* given) {
    Maximisation& all = *static_cast<Maximisation*>(given);
    for (std::int64_t replica; (replica = all.items.take()) >= 0;) all.take(replica, 1, 1);
  };
  pool().run(threads, work, &all);
}
}
