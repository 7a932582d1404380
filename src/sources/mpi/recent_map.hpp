// A map for questions that mostly repeat the last one.
#pragma once

namespace substrata::mpi {

// Map: std::map or std::unordered_map, whose entries stay where they are. Moved, not copied.
// Thread-compatible.
template <typename Map>
class RecentMap {
 public:
  using Key = typename Map::key_type;
  RecentMap() = default;
  RecentMap(RecentMap&&) noexcept = default;
  RecentMap& operator=(RecentMap&&) noexcept = default;
  // Made by default if it is new. Valid until it is erased.
  typename Map::mapped_type& operator[](const Key& key) {
    if (recent_ == nullptr || recent_->first != key) recent_ = &*map_.try_emplace(key).first;
    return recent_->second;
  }
  void erase(const Key& key) {
    recent_ = nullptr;
    map_.erase(key);
  }
  const Map& all() const { return map_; }

 private:
  Map map_;
  typename Map::value_type* recent_ = nullptr;
};

}  // namespace substrata::mpi
