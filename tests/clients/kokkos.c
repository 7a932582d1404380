/* What Kokkos does with a tool: loads it, calls its hooks around kernels. kokkos TOOL: a parallel_for that touches 1000
 * fresh pages, twice, and a region around a parallel_reduce that touches none. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "touched.h"

typedef void (*Init)(int, uint64_t, uint32_t, void*);
typedef void (*Begin)(const char*, uint32_t, uint64_t*);
typedef void (*End)(uint64_t);
typedef void (*Push)(const char*);
typedef void (*Plain)(void);

static void* hook(void* tool, const char* name) {
  void* found = dlsym(tool, name);
  if (found == NULL) fprintf(stderr, "the tool has no %s\n", name);
  return found;
}

int main(int count, char** arguments) {
  void* tool = dlopen(count == 2 ? arguments[1] : "", RTLD_NOW | RTLD_GLOBAL);
  if (tool == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const Init init = (Init)hook(tool, "kokkosp_init_library");
  const Begin begin_for = (Begin)hook(tool, "kokkosp_begin_parallel_for");
  const End end_for = (End)hook(tool, "kokkosp_end_parallel_for");
  const Begin begin_reduce = (Begin)hook(tool, "kokkosp_begin_parallel_reduce");
  const End end_reduce = (End)hook(tool, "kokkosp_end_parallel_reduce");
  const Push push = (Push)hook(tool, "kokkosp_push_profile_region");
  const Plain pop = (Plain)hook(tool, "kokkosp_pop_profile_region");
  const Plain finalize = (Plain)hook(tool, "kokkosp_finalize_library");
  if (!init || !begin_for || !end_for || !begin_reduce || !end_reduce || !push || !pop || !finalize) return 1;

  init(0, 20211015, 0, NULL);
  for (uint64_t kernel = 0; kernel < 2; ++kernel) {
    begin_for("touch", 0, &kernel);
    if (touch_pages(1000) != 0) return 1;
    end_for(kernel);
  }
  uint64_t kernel = 2;
  push("solve");
  begin_reduce("sum", 0, &kernel);
  volatile double sum = 0;
  for (int i = 1; i < 10000000; ++i) sum = sum + 1.0 / i;
  end_reduce(kernel);
  pop();
  finalize();
  return 0;
}
