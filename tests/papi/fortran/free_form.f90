! A Fortran 90 program that measures with the example substrate and checks every answer.
program free_form
  implicit none
  include 'f90papi.h'
  integer :: check, set, code, number, status, listed(4), ncpu, nodes, total, vendor, model, level
  integer(8) :: values(4), more(4), cycles, memory(PAPIF_DMEM_MAXVAL), ns
  real :: revision, mhz
  character(len=PAPI_MAX_STR_LEN) :: name, vendor_name, model_name
  character(len=16) :: short_name

  check = PAPI_VER_CURRENT
  call PAPIF_library_init(check)
  call expect(check == PAPI_VER_CURRENT, 'library_init')
  call PAPIF_is_initialized(level)
  call expect(iand(level, PAPI_LOW_LEVEL_INITED) /= 0, 'is_initialized')
  set = PAPI_NULL
  call PAPIF_create_eventset(set, check)
  call expect(check == PAPI_OK .and. set >= 0, 'create_eventset')
  call PAPIF_event_name_to_code('example:::ticks   ', code, check)
  call expect(check == PAPI_OK, 'event_name_to_code')
  call PAPIF_event_code_to_name(code, name, check)
  call expect(check == PAPI_OK .and. name == 'example:::ticks', 'event_code_to_name')
  call PAPIF_event_code_to_name(code, short_name, check)
  call expect(short_name == 'example:::ticks', 'a name that just fits')
  call PAPIF_query_event(code, check)
  call expect(check == PAPI_OK, 'query_event')
  call PAPIF_add_named_event(set, 'example:::ticks', check)
  call expect(check == PAPI_OK, 'add_named_event')
  call PAPIF_num_events(set, number)
  call expect(number == 1, 'num_events')
  number = 4
  call PAPIF_list_events(set, listed, number, check)
  call expect(check == PAPI_OK .and. number == 1 .and. listed(1) == code, 'list_events')
  call PAPIF_start(set, check)
  call expect(check == PAPI_OK, 'start')
  call PAPIF_state(set, status, check)
  call expect(check == PAPI_OK .and. iand(status, PAPI_RUNNING) /= 0, 'state')
  call PAPIF_read(set, values, check)
  call expect(check == PAPI_OK, 'read')
  call PAPIF_read_ts(set, more, cycles, check)
  call expect(check == PAPI_OK .and. more(1) >= values(1) .and. cycles > 0, 'read_ts')
  call PAPIF_stop(set, values, check)
  call expect(check == PAPI_OK .and. values(1) >= more(1), 'stop')
  call PAPIF_stop(set, values, check)
  call expect(check == PAPI_ENOTRUN, 'stop twice')
  call PAPIF_cleanup_eventset(set, check)
  call expect(check == PAPI_OK, 'cleanup_eventset')
  call PAPIF_destroy_eventset(set, check)
  call expect(check == PAPI_OK .and. set == PAPI_NULL, 'destroy_eventset')
  call PAPIF_get_real_nsec(ns)
  call expect(ns > 0, 'get_real_nsec')
  call PAPIF_get_dmem_info(memory, check)
  call expect(check == PAPI_OK .and. memory(PAPIF_DMEM_RESIDENT) > 0, 'get_dmem_info')
  call PAPIF_get_hardware_info(ncpu, nodes, total, vendor, vendor_name, model, model_name, revision, mhz)
  call expect(total > 0 .and. ncpu > 0, 'get_hardware_info')
  call PAPIF_get_domain(PAPI_NULL, status, PAPI_DEFDOM, check)
  call expect(check == PAPI_OK .and. status == PAPI_DOM_USER, 'get_domain of the default')
  call PAPIF_lock(PAPI_LOCK_USR1, check)
  call expect(check == PAPI_OK, 'lock')
  call PAPIF_unlock(PAPI_LOCK_USR1, check)
  call expect(check == PAPI_OK, 'unlock')
  call PAPIF_shutdown()
  call PAPIF_is_initialized(level)
  call expect(level == PAPI_NOT_INITED, 'shutdown')
  print '(a)', 'all answers right'

contains

  include 'expect.inc'
end program free_form
