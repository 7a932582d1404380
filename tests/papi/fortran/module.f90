! A Fortran 2008 program that measures through the module, both by PAPI's C names and by the PAPIF_ procedures, and checks
! every answer.
program module_program
  use papi
  implicit none
  interface
    function c_size_of(which) bind(c) result(bytes)
      import :: c_int, c_size_t
      integer(c_int), value :: which
      integer(c_size_t) :: bytes
    end function c_size_of
  end interface
  type(PAPI_component_info_t), pointer :: component
  type(PAPI_hw_info_t), pointer :: machine
  type(PAPI_event_info_t), target :: info
  type(PAPI_dmem_info_t) :: memory
  type(PAPI_exe_info_t) :: program_info
  type(PAPI_address_map_t) :: map
  type(PAPI_mh_info_t) :: hierarchy
  type(PAPI_sprofil_t) :: profile
  type(PAPI_shlib_info_t) :: libraries
  type(PAPI_all_thr_spec_t) :: threads
  type(PAPI_preload_info_t) :: preload
  type(PAPI_multiplex_option_t) :: multiplex
  integer(c_int) :: set, check, event, found, number, listed(4), status
  integer(c_long_long) :: values(4), more(4), cycles
  character(kind=c_char) :: name(PAPI_MAX_STR_LEN)
  character(len=PAPI_MAX_STR_LEN) :: text

  call expect(PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT, 'library_init')
  call c_f_pointer(PAPI_get_component_info(PAPI_get_component_index('example'//c_null_char)), component)
  call c_f_pointer(PAPI_get_hardware_info(), machine)
  call expect(c_sizeof(component) == c_size_of(1), 'size of PAPI_component_info_t')
  call expect(c_sizeof(info) == c_size_of(2), 'size of PAPI_event_info_t')
  call expect(c_sizeof(machine) == c_size_of(3), 'size of PAPI_hw_info_t')
  call expect(c_sizeof(hierarchy) == c_size_of(4), 'size of PAPI_mh_info_t')
  call expect(c_sizeof(program_info) == c_size_of(5), 'size of PAPI_exe_info_t')
  call expect(c_sizeof(map) == c_size_of(6), 'size of PAPI_address_map_t')
  call expect(c_sizeof(memory) == c_size_of(7), 'size of PAPI_dmem_info_t')
  call expect(c_sizeof(profile) == c_size_of(8), 'size of PAPI_sprofil_t')
  call expect(c_sizeof(libraries) == c_size_of(9), 'size of PAPI_shlib_info_t')
  call expect(c_sizeof(threads) == c_size_of(10), 'size of PAPI_all_thr_spec_t')
  call expect(c_sizeof(preload) == c_size_of(11), 'size of PAPI_preload_info_t')
  call expect(c_sizeof(multiplex) == c_size_of(12), 'size of PAPI_multiplex_option_t')
  call expect(all(component%name(1:8) == ['e', 'x', 'a', 'm', 'p', 'l', 'e', c_null_char]), 'a component''s name')
  call expect(machine%totalcpus > 0, 'processors')

  set = PAPI_NULL
  call expect(PAPI_create_eventset(set) == PAPI_OK .and. set >= 0, 'create_eventset')
  call expect(PAPI_event_name_to_code('example:::ticks'//c_null_char, event) == PAPI_OK, 'event_name_to_code')
  call expect(PAPI_event_code_to_name(event, name) == PAPI_OK, 'event_code_to_name')
  call expect(name(1) == 'e' .and. name(15) == 's' .and. name(16) == c_null_char, 'the event''s name')
  call expect(PAPI_get_event_info(event, info) == PAPI_OK .and. info%count == 1, 'get_event_info')
  call expect(PAPI_get_component_index('example'//c_null_char) == info%component_index, 'the event''s component')
  call PAPIF_event_code_to_name(event, text, check)
  call expect(check == PAPI_OK .and. text == 'example:::ticks', 'a Fortran text')
  call expect(PAPI_add_event(set, event) == PAPI_OK, 'add_event')
  number = size(listed)
  call expect(PAPI_list_events(set, listed, number) == PAPI_OK .and. number == 1 .and. listed(1) == event, 'list_events')
  call expect(PAPI_start(set) == PAPI_OK, 'start')
  call expect(PAPI_state(set, status) == PAPI_OK .and. iand(status, PAPI_RUNNING) /= 0, 'state')
  call expect(PAPI_read_ts(set, values, cycles) == PAPI_OK .and. cycles > 0, 'read_ts')
  call PAPIF_read(set, more, check)
  call expect(check == PAPI_OK .and. more(1) > values(1), 'every read counts further')
  call expect(PAPI_stop(set, values) == PAPI_OK .and. values(1) >= more(1), 'stop')
  check = PAPI_detach_f(set)
  call expect(check == PAPI_EINVAL .or. check == PAPI_ECMP, 'a refusal')
  call expect(PAPI_cleanup_eventset(set) == PAPI_OK, 'cleanup_eventset')
  call expect(PAPI_destroy_eventset(set) == PAPI_OK .and. set == PAPI_NULL, 'destroy_eventset')
  found = PAPI_OK
  call expect(PAPI_get_dmem_info(memory) == found .and. memory%size > 0, 'get_dmem_info')
  call PAPI_shutdown()
  print '(a)', 'all answers right'

contains
  include 'expect.inc'
end program module_program
