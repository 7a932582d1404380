! Measures a loop with the module: PAPI's functions with their arguments checked by the compiler. What it counts is what
! the machine lets it count; the processor time of the library always is.
program measure_module
  use papi
  implicit none
  integer(c_int) :: set, code
  integer(c_long_long) :: counts(1), began
  type(PAPI_hw_info_t), pointer :: machine
  real(8), allocatable :: numbers(:)
  integer :: i

  code = PAPI_library_init(PAPI_VER_CURRENT)
  if (code /= PAPI_VER_CURRENT) stop 'PAPI does not start'
  call c_f_pointer(PAPI_get_hardware_info(), machine)
  print '(a,i0)', 'processors         ', machine%totalcpus

  set = PAPI_NULL
  code = PAPI_create_eventset(set)
  if (code == PAPI_OK) code = PAPI_add_named_event(set, 'perf::PAGE-FAULTS'//c_null_char)
  if (code /= PAPI_OK) print '(a)', 'no page faults here: see papi_component_avail for the reason'
  if (code == PAPI_OK) code = PAPI_start(set)
  began = PAPI_get_virt_nsec()
  allocate (numbers(1000000))
  do i = 1, size(numbers)
    numbers(i) = 1.0d0/i
  end do
  print '(a,f10.6)', 'sum of 1/i         ', sum(numbers)
  print '(a,i0,a)', 'processor time     ', PAPI_get_virt_nsec() - began, ' ns'
  if (code == PAPI_OK) then
    code = PAPI_stop(set, counts)
    print '(a,i0)', 'page faults        ', counts(1)
    code = PAPI_cleanup_eventset(set)
  end if
  code = PAPI_destroy_eventset(set)
  call PAPI_shutdown()
end program measure_module
