! Measures a loop with the kernel's task clock and page faults, and prints what they counted.
program measure_sum
  implicit none
  include 'f90papi.h'
  integer :: check, set, i
  integer(8) :: counts(2)
  real(8) :: total
  real(8), allocatable :: numbers(:)

  check = PAPI_VER_CURRENT
  call PAPIF_library_init(check)
  if (check /= PAPI_VER_CURRENT) stop 'PAPI does not start'

  set = PAPI_NULL
  call PAPIF_create_eventset(set, check)
  call PAPIF_add_named_event(set, 'perf::TASK-CLOCK', check)
  if (check /= PAPI_OK) stop 'no task clock here: see papi_component_avail for the reason'
  call PAPIF_add_named_event(set, 'perf::PAGE-FAULTS', check)
  if (check /= PAPI_OK) stop 'no page faults here: see papi_component_avail for the reason'

  call PAPIF_start(set, check)
  allocate (numbers(1000000))
  do i = 1, size(numbers)
    numbers(i) = 1.0d0/i
  end do
  total = sum(numbers)
  call PAPIF_stop(set, counts, check)
  if (check /= PAPI_OK) stop 'the eventset did not run'

  print '(a,f10.6)', 'sum of 1/i         ', total
  print '(a,i0,a)', 'processor time     ', counts(1), ' ns'
  print '(a,i0)', 'page faults        ', counts(2)
  call PAPIF_cleanup_eventset(set, check)
  call PAPIF_destroy_eventset(set, check)
  call PAPIF_shutdown()
end program measure_sum
