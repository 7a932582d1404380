// Counts how often each distinct element was put into a counting set.
#include "papi/sde/counting_set.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

namespace substrata::sde {

std::string CountingSet::key_of(std::string_view hashable, std::uint32_t type_id) {
  std::string key(reinterpret_cast<const char*>(&type_id), sizeof type_id);
  key.append(hashable);
  return key;
}

void CountingSet::insert(std::string_view element, std::size_t hashable_size, std::uint32_t type_id) {
  std::string key = key_of(element.substr(0, hashable_size), type_id);
  const std::lock_guard lock(mutex_);
  const auto [first, last] = by_key_.equal_range(key);
  for (auto at = first; at != last; ++at) {
    if (at->second->bytes == element) {
      ++at->second->count;
      return;
    }
  }
  elements_.push_back({std::string(element), hashable_size, type_id, 1});
  try {
    by_key_.emplace(std::move(key), std::prev(elements_.end()));
  } catch (...) {
    elements_.pop_back();
    throw;
  }
}

void CountingSet::remove(std::string_view hashable, std::uint32_t type_id) {
  const std::string key = key_of(hashable, type_id);
  const std::lock_guard lock(mutex_);
  const auto at = by_key_.find(key);
  if (at == by_key_.end()) return;
  if (--at->second->count > 0) return;
  elements_.erase(at->second);
  by_key_.erase(at);
}

cset_list_object_t* CountingSet::list() const {
  const std::lock_guard lock(mutex_);
  cset_list_object_t* first = nullptr;
  cset_list_object_t** link = &first;
  for (const Element& element : elements_) {
    auto* copy = static_cast<cset_list_object_t*>(std::calloc(1, sizeof(cset_list_object_t)));
    void* bytes = std::malloc(element.bytes.empty() ? 1 : element.bytes.size());
    if (copy == nullptr || bytes == nullptr) {
      std::free(copy);
      std::free(bytes);
      release(first);
      throw std::bad_alloc();
    }
    std::ranges::copy(element.bytes, static_cast<char*>(bytes));
    copy->count = element.count;
    copy->type_id = element.type_id;
    copy->type_size = element.bytes.size();
    copy->ptr = bytes;
    *link = copy;
    link = &copy->next;
  }
  return first;
}

void release(cset_list_object_t* list) noexcept {
  while (list != nullptr) {
    cset_list_object_t* next = list->next;
    std::free(list->ptr);
    std::free(list);
    list = next;
  }
}

}  // namespace substrata::sde
