static thread_local int thread_number = 0;  // 0: not one of the pool

// The items of a loop, shared by threads. Each begins with a range of its own, which is the same in every loop, so that what it has written
// is still in its cache when it reads it; then it takes what others have left.
class Items {
 public:
  void begin(std::int64_t count, std::int64_t threads) {
    count_ = count, ranges_ = std::max<std::int64_t>(1, std::min<std::int64_t>({threads, count, MOST}));
    for (std::int64_t range = 0; range < ranges_; range++) taken_[range].value = 0;
  }
  // The next item for this thread, or -1.
  std::int64_t take() {
    for (std::int64_t i = 0; i < ranges_; i++) {
      const std::int64_t range = (thread_number + i) % ranges_, first = count_ * range / ranges_, end = count_ * (range + 1) / ranges_;
      if (first + taken_[range].value >= end) continue;
      const std::int64_t item = first + taken_[range].value.fetch_add(1);
      if (item < end) return item;
    }
    return -1;
  }

 private:
  static constexpr std::int64_t MOST = 64;
  struct alignas(64) Cursor {
    std::atomic<std::int64_t> value{0};
  };
  std::int64_t count_ = 0, ranges_ = 1;
  Cursor taken_[MOST];
};

// Threads that wait for work, kept for the life of the process. A caller works too; a second caller at the same time works alone.

class Pool {
 public:
  using Work = void (*)(void*);

  // Call work(argument) in this thread and in at most threads - 1 others; returns when all of them have returned.
  void run(std::int64_t threads, Work work, void* argument) {
    std::unique_lock<std::mutex> caller(caller_, std::defer_lock);
    if (threads <= 1 || !caller.try_lock()) return work(argument);
    start(threads - 1);
    {
      const std::lock_guard<std::mutex> lock(state_);
      work_ = work, argument_ = argument;
      places_ = std::min(threads - 1, started_);
    }
    wake_.notify_all();
    work(argument);
    {
      const std::lock_guard<std::mutex> lock(state_);
      places_ = 0;  // whoever has not begun is not needed any more
    }
    spin([this] { return active_ == 0; });
    std::unique_lock<std::mutex> lock(state_);
    done_.wait(lock, [this] { return active_ == 0; });
  }

 private:
  // Wait actively for a moment: to be woken takes longer than the serial part between two calls of an inner loop.
  template <class Condition>
  static bool spin(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(2000);
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      for (int i = 0; i < 32; i++) _mm_pause();
    }
    return true;
  }

  void start(std::int64_t count) {
    if (started_ >= count) return;
    sigset_t all, former;  // signals are for the threads of the interpreter
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    try {
      for (; started_ < count; started_++) std::thread([this, number = started_ + 1] { thread_number = static_cast<int>(number), serve(); }).detach();
    } catch (const std::system_error&) {  // no more threads: fewer work
    }
    pthread_sigmask(SIG_SETMASK, &former, nullptr);
  }

  void serve() {
    for (;;) {
      const bool waited = !spin([this] { return places_ > 0; });
      std::unique_lock<std::mutex> lock(state_);
      if (waited) wake_.wait(lock, [this] { return places_ > 0; });
      if (places_ <= 0) continue;  // the work was done meanwhile: wait actively for the next
      places_--, active_++;
      const Work work = work_;
      void* const argument = argument_;
      lock.unlock();
      work(argument);
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  std::mutex caller_, state_;
  std::condition_variable wake_, done_;
  Work work_ = nullptr;
  void* argument_ = nullptr;
  std::atomic<std::int64_t> places_{0}, active_{0};
  std::int64_t started_ = 0;
};

// Threads do not survive a fork: the child begins with a pool of its own. A pool is never destroyed, as its threads still wait at exit.
Pool* current_pool;

Pool& pool() {
  static const bool ready = [] {
    current_pool = new Pool;
    return pthread_atfork(nullptr, nullptr, [] { current_pool = new Pool; }) == 0;
  }();
  (void)ready;
  return *current_pool;
}
