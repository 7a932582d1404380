! Measures with the module that is installed beside the includes: how many pages a loop touches for the first time.
program measure
  use papi
  implicit none
  integer(c_int) :: set, code
  integer(c_long_long) :: faults(1)
  real(8), allocatable :: numbers(:)

  if (PAPI_library_init(PAPI_VER_CURRENT) /= PAPI_VER_CURRENT) stop 1
  print '(a,i0)', 'components ', PAPI_num_components()
  set = PAPI_NULL
  code = PAPI_create_eventset(set)
  if (code == PAPI_OK) code = PAPI_add_named_event(set, 'perf::PAGE-FAULTS'//c_null_char)
  if (code == PAPI_OK) code = PAPI_start(set)
  allocate (numbers(1000000))
  numbers = 1
  if (code == PAPI_OK) code = PAPI_stop(set, faults)
  if (code == PAPI_OK) print '(a,i0)', 'page faults ', faults(1)
  if (code /= PAPI_OK) print '(a)', 'page faults do not count here'
  if (sum(numbers) < size(numbers)) stop 2
  call PAPI_shutdown()
end program measure
