// Worker threads that run jobs in the order they came.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lanewise {

class ThreadPool {
 public:
  /// 0: as many threads as cores. Threads start with the first job.
  explicit ThreadPool(unsigned threads = 0)
      : limit_(threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency())) {}
  /// Runs what is queued, then ends.
  ~ThreadPool() {
    {
      const std::lock_guard guard(lock_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Jobs must not throw, and must not wait for other jobs of the pool.
  void run(std::function<void()> job) {
    {
      const std::lock_guard guard(lock_);
      jobs_.push_back(std::move(job));
      if (jobs_.size() > idle_ && threads_.size() < limit_) threads_.emplace_back([this] { work(); });
    }
    wake_.notify_one();
  }

 private:
  void work() {
    std::unique_lock guard(lock_);
    while (true) {
      ++idle_;
      wake_.wait(guard, [this] { return ending_ || !jobs_.empty(); });
      --idle_;
      if (jobs_.empty()) return;
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      guard.unlock();
      job();
      guard.lock();
    }
  }

  unsigned limit_;
  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  unsigned idle_ = 0;
  bool ending_ = false;
};

} // namespace lanewise
