// SPDX-License-Identifier: Apache-2.0
#include <support/checked_contexts.hpp>

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <support/checked_violations.hpp>

namespace rankshare::test {

/// What all threads pushed. Each thread that pushed watches it, since it may outlive the driver.
class checked_contexts::stacks : public std::enable_shared_from_this<stacks> {
 public:
  explicit stacks(std::shared_ptr<checked_violations> violations)
      : violations_(std::move(violations)) {}

  void push(CUctx_st* context) {
    watch();
    std::lock_guard const lock(mutex_);
    pushed_[std::this_thread::get_id()].push_back(context);
  }

  void pop() {
    std::lock_guard const lock(mutex_);
    pushed_[std::this_thread::get_id()].pop_back();
  }

  std::vector<CUctx_st*> of_this_thread() const {
    std::lock_guard const lock(mutex_);
    auto const found = pushed_.find(std::this_thread::get_id());
    return found == pushed_.end() ? std::vector<CUctx_st*>{} : found->second;
  }

  std::size_t total() const {
    std::lock_guard const lock(mutex_);
    std::size_t count = 0;
    for (auto const& [thread, contexts] : pushed_) count += contexts.size();
    return count;
  }

 private:
  using weak_list = std::vector<std::weak_ptr<stacks>>;

  struct thread_watch {
    ~thread_watch() {
      for (auto const& one : watched) {
        if (auto const alive = one.lock()) alive->thread_ends();
      }
    }
    weak_list watched;
  };

  void watch() {
    thread_local thread_watch watching;
    for (auto const& one : watching.watched) {
      if (one.lock().get() == this) return;
    }
    watching.watched.push_back(weak_from_this());
  }

  void thread_ends() {
    std::size_t left = 0;
    {
      std::lock_guard const lock(mutex_);
      auto const found = pushed_.find(std::this_thread::get_id());
      if (found == pushed_.end()) return;
      left = found->second.size();
      pushed_.erase(found);
    }
    if (left == 0) return;
    violations_->add("ctx_push_current: a thread ended with " + std::to_string(left) +
                     " contexts pushed");
  }

  std::shared_ptr<checked_violations> violations_;
  mutable std::mutex mutex_;
  std::map<std::thread::id, std::vector<CUctx_st*>> pushed_;
};

checked_contexts::checked_contexts(std::shared_ptr<checked_violations> violations)
    : stacks_(std::make_shared<stacks>(std::move(violations))) {}

checked_contexts::~checked_contexts() = default;

bool checked_contexts::is_current() const { return current_ || has_pushed(); }
bool checked_contexts::has_pushed() const { return !stacks_->of_this_thread().empty(); }

CUctx_st* checked_contexts::top() const {
  auto const contexts = stacks_->of_this_thread();
  return contexts.empty() ? nullptr : contexts.back();
}

void checked_contexts::push(CUctx_st* context) { stacks_->push(context); }
void checked_contexts::pop() { stacks_->pop(); }
std::size_t checked_contexts::pushed() const { return stacks_->total(); }

}  // namespace rankshare::test
