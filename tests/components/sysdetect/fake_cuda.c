// A stand-in for CUDA's driver library: a device is the last digit of its bus, an attribute's value its own number and
// the device's behind it.
#include <string.h>

static int started;

int cuInit(unsigned flags) {
  started = 1;
  return (int)flags;
}
int cuDeviceGetByPCIBusId(int* device, const char* bus) {
  const char* number = strchr(bus, ':');
  if (!started || number == NULL || number[1] != '1') return 101;
  *device = number[2] - '0';
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (!started) return 3;
  *value = attribute * 10 + device;
  return 0;
}
