// The program all the examples of consumers build: which PAPI it was compiled for, which one answers, and its
// components.
#include <papi.h>
#include <stdio.h>

int main(void) {
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  if (version != PAPI_VER_CURRENT) {
    fprintf(stderr, "PAPI does not start: %s\n", PAPI_strerror(version));
    return 1;
  }
  const int library = PAPI_get_opt(PAPI_LIB_VERSION, NULL);
  printf("compiled for %d.%d.%d.%d\n", PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION),
         PAPI_VERSION_REVISION(PAPI_VERSION), PAPI_VERSION_INCREMENT(PAPI_VERSION));
  printf("answered by %d.%d.%d.%d\n", PAPI_VERSION_MAJOR(library), PAPI_VERSION_MINOR(library),
         PAPI_VERSION_REVISION(library), PAPI_VERSION_INCREMENT(library));
  for (int i = 0; i < PAPI_num_components(); ++i) {
    const PAPI_component_info_t* component = PAPI_get_component_info(i);
    printf("component %s%s\n", component->name, component->disabled ? ", unavailable" : "");
  }
  PAPI_shutdown();
  return 0;
}
