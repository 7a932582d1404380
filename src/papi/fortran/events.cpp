// Fortran: events by name and code.
#include <memory>
#include <new>

#include "papi/fortran/spelling.hpp"

using namespace substrata::capi;

FORTRAN(query_event, QUERY_EVENT, (int* code, int* check)) { *check = PAPI_query_event(*code); }
FORTRAN(query_named_event, QUERY_NAMED_EVENT, (const char* name, int* check, size_t length)) {
  *check = PAPI_query_named_event(from_fortran(name, length).c_str());
}
FORTRAN(event_code_to_name, EVENT_CODE_TO_NAME, (int* code, char* name, int* check, size_t length)) {
  char text[PAPI_MAX_STR_LEN] = "";
  *check = PAPI_event_code_to_name(*code, text);
  to_fortran(text, name, length);
}
FORTRAN(event_name_to_code, EVENT_NAME_TO_CODE, (const char* name, int* code, int* check, size_t length)) {
  *check = PAPI_event_name_to_code(from_fortran(name, length).c_str(), code);
}
FORTRAN(enum_event, ENUM_EVENT, (int* code, int* modifier, int* check)) {
  *check = PAPI_enum_event(code, *modifier);
}

FORTRAN(get_event_info, GET_EVENT_INFO,
        (int* code, char* symbol, char* long_text, char* short_text, int* count, char* note, int* flags,
         int* check, size_t symbol_length, size_t long_length, size_t short_length, size_t note_length)) {
  const std::unique_ptr<PAPI_event_info_t> info(new (std::nothrow) PAPI_event_info_t{});
  *check = info ? PAPI_get_event_info(*code, info.get()) : PAPI_ENOMEM;
  const bool good = *check == PAPI_OK;
  to_fortran(good ? info->symbol : "", symbol, symbol_length);
  to_fortran(good ? info->long_descr : "", long_text, long_length);
  to_fortran(good ? info->short_descr : "", short_text, short_length);
  to_fortran(good ? info->note : "", note, note_length);
  *count = good ? static_cast<int>(info->count) : 0;
  *flags = good ? static_cast<int>(info->event_type) : 0;
}

FORTRAN(num_hwctrs, num_hwctrs, (int* number)) { *number = PAPI_num_hwctrs(); }
FORTRAN(num_cmp_hwctrs, num_cmp_hwctrs, (int* component, int* number)) {
  *number = PAPI_num_cmp_hwctrs(*component);
}
