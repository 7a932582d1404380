/* Runs MPI without being linked to it: through a plug-in that is, or through the library's functions looked up.
   loads_mpi plugin FILE | lookup LIBRARY | namespace FILE */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int count, char** words) {
  if (count != 3) return 2;
  void* const handle = strcmp(words[1], "namespace") == 0 ? dlmopen(LM_ID_NEWLM, words[2], RTLD_NOW)
                                                          : dlopen(words[2], RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    printf("not loaded: %s\n", dlerror());
    return 3;
  }
  if (strcmp(words[1], "lookup") == 0) {
    int (*const begin)(int*, char***) = (int (*)(int*, char***))dlsym(handle, "MPI_Init");
    int (*const end)(void) = (int (*)(void))dlsym(handle, "MPI_Finalize");
    begin(NULL, NULL);
    end();
    puts("whole");
    return 0;
  }
  int (*const ring)(void) = (int (*)(void))dlsym(handle, "ring");
  return ring();
}
