! Reports which PAPI answers and how many hardware counters it has.
program report
  implicit none
  include 'f90papi.h'
  integer :: check, counters

  check = PAPI_VER_CURRENT
  call PAPIF_library_init(check)
  if (check /= PAPI_VER_CURRENT) stop 1
  print '(a,i0,a,i0)', 'answered by ', ishft(check, -24), '.', iand(ishft(check, -16), 255)
  call PAPIF_num_hwctrs(counters)
  print '(a,i0)', 'hardware counters ', counters
  call PAPIF_shutdown()
end program report
