// C++ side of sde_lib.h, with the names of PAPI's own: a library that publishes and what it creates.
#ifndef PAPI_SDE_LIB_HPP
#define PAPI_SDE_LIB_HPP

#include <exception>
#include <type_traits>

#include "sde_lib.h"

namespace papi_sde {

// One publishing library. The events it makes live until they are unregistered, not until this object ends.
// Thread-safe.
class PapiSde {
 public:
  explicit PapiSde(const char* name_of_library) : handle_(papi_sde_init(name_of_library)) {}

  // Publishes a variable of type long long, int, double or float; any other type does not compile.
  template <typename T>
  int register_counter(const char* event_name, int cntr_mode, T& counter) {
    static_assert(std::is_same<T, long long>::value || std::is_same<T, int>::value ||
                      std::is_same<T, double>::value || std::is_same<T, float>::value,
                  "a counter is a long long, int, double or float");
    return papi_sde_register_counter(handle_, event_name, cntr_mode, type_of<T>(), &counter);
  }

  // Publishes what func_ptr(&param) returns; a result other than long long is refused with SDE_EINVAL.
  template <typename T, typename P>
  int register_counter_cb(const char* event_name, int cntr_mode, T (*func_ptr)(P*), P& param) {
    if (!std::is_same<T, long long>::value) {
      SDE_ERROR("register_counter_cb: the callback must return long long");
      return SDE_EINVAL;
    }
    return papi_sde_register_counter_cb(handle_, event_name, cntr_mode, PAPI_SDE_long_long,
                                        reinterpret_cast<papi_sde_fptr_t>(func_ptr), &param);
  }

  int unregister_counter(const char* event_name) { return papi_sde_unregister_counter(handle_, event_name); }
  int describe_counter(const char* event_name, const char* event_description) {
    return papi_sde_describe_counter(handle_, event_name, event_description);
  }
  int add_counter_to_group(const char* event_name, const char* group_name, uint32_t group_flags) {
    return papi_sde_add_counter_to_group(handle_, event_name, group_name, group_flags);
  }

  // A handle of a counter kept by libsde. Throws std::exception if it cannot be created.
  class CreatedCounter {
   public:
    CreatedCounter(papi_handle_t library, const char* event_name, int cntr_mode) {
      if (papi_sde_create_counter(library, event_name, cntr_mode, &handle_) != SDE_OK) throw std::exception();
    }
    template <typename T>
    int increment(T const& increment) {
      return handle_ == nullptr ? SDE_EINVAL
                                : papi_sde_inc_counter(handle_, static_cast<long long>(increment));
    }
    int reset() { return handle_ == nullptr ? SDE_EINVAL : papi_sde_reset_counter(handle_); }

   private:
    void* handle_ = nullptr;
  };

  // A handle of a recorder. Throws std::exception if it cannot be created.
  class Recorder {
   public:
    Recorder(papi_handle_t library, const char* event_name, size_t typesize,
             int (*cmpr_func_ptr)(const void* p1, const void* p2)) {
      if (papi_sde_create_recorder(library, event_name, typesize, cmpr_func_ptr, &handle_) != SDE_OK)
        throw std::exception();
    }
    template <typename T>
    int record(T const& value) {
      return handle_ == nullptr ? SDE_EINVAL : papi_sde_record(handle_, sizeof(T), &value);
    }
    int reset() { return handle_ == nullptr ? SDE_EINVAL : papi_sde_reset_recorder(handle_); }

   private:
    void* handle_ = nullptr;
  };

  // A handle of a counting set. Throws std::exception if it cannot be created.
  class CountingSet {
   public:
    CountingSet(papi_handle_t library, const char* cset_name) {
      if (papi_sde_create_counting_set(library, cset_name, &handle_) != SDE_OK) throw std::exception();
    }
    template <typename T>
    int insert(T const& element, uint32_t type_id) {
      return insert(sizeof(T), element, type_id);
    }
    template <typename T>
    int insert(size_t hashable_size, T const& element, uint32_t type_id) {
      return handle_ == nullptr
                 ? SDE_EINVAL
                 : papi_sde_counting_set_insert(handle_, sizeof(T), hashable_size, &element, type_id);
    }
    template <typename T>
    int remove(size_t hashable_size, T const& element, uint32_t type_id) {
      return handle_ == nullptr ? SDE_EINVAL
                                : papi_sde_counting_set_remove(handle_, hashable_size, &element, type_id);
    }

   private:
    void* handle_ = nullptr;
  };

  // These return null if the event cannot be created; the caller deletes what they return.
  CreatedCounter* create_counter(const char* event_name, int cntr_mode) {
    try {
      return new CreatedCounter(handle_, event_name, cntr_mode);
    } catch (std::exception const&) {
      return nullptr;
    }
  }
  Recorder* create_recorder(const char* event_name, size_t typesize,
                            int (*cmpr_func_ptr)(const void* p1, const void* p2)) {
    try {
      return new Recorder(handle_, event_name, typesize, cmpr_func_ptr);
    } catch (std::exception const&) {
      return nullptr;
    }
  }
  CountingSet* create_counting_set(const char* cset_name) {
    try {
      return new CountingSet(handle_, cset_name);
    } catch (std::exception const&) {
      return nullptr;
    }
  }

 private:
  template <typename T>
  static constexpr int type_of() {
    return std::is_same<T, long long>::value ? PAPI_SDE_long_long
           : std::is_same<T, int>::value     ? PAPI_SDE_int
           : std::is_same<T, double>::value  ? PAPI_SDE_double
                                             : PAPI_SDE_float;
  }

  papi_handle_t handle_;
};

template <typename T>
PapiSde::CreatedCounter& operator+=(PapiSde::CreatedCounter& counter, const T increment) {
  counter.increment(increment);
  return counter;
}
inline PapiSde::CreatedCounter& operator++(PapiSde::CreatedCounter& counter) {
  counter.increment(1LL);
  return counter;
}
inline PapiSde::CreatedCounter& operator--(PapiSde::CreatedCounter& counter) {
  counter.increment(-1LL);
  return counter;
}

}  // namespace papi_sde

#endif
