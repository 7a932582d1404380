/* One conversation with libsde, written line by line on standard output: run with Debian's libsde and with ours,
   the lines must be the same. What Debian's does not survive, or answers wrongly, is left out here
   (docs/reference/sde.md lists it) and is tested of ours alone. The argument names the scenario. */
#include <sde_lib.h>
#include <stdlib.h>
#include <string.h>

/* The tool side, which no public header declares. */
int sde_ti_read_counter(uint32_t id, long long* value);
int sde_ti_write_counter(uint32_t id, long long value);
int sde_ti_reset_counter(uint32_t id);
int sde_ti_name_to_code(const char* name, uint32_t* id);
int sde_ti_is_simple_counter(uint32_t id);
int sde_ti_is_counter_set_to_overflow(uint32_t id);
int sde_ti_set_counter_overflow(uint32_t id, int threshold);
char* sde_ti_get_event_name(int id);
char* sde_ti_get_event_description(int id);
int sde_ti_get_num_reg_events(void);
int sde_ti_shutdown(void);

static const char* text(const char* s) { return s ? s : "(null)"; }

static void say(const char* what, long long value) { printf("%s = %lld\n", what, value); }
#define SAY(expression) say(#expression, (long long)(expression))

static uint32_t code(const char* name) {
  uint32_t id = 4242;
  int result = sde_ti_name_to_code(name, &id);
  printf("code of %s: %d, id %u\n", name, result, id);
  return id;
}

static long long value_of(const char* name, uint32_t id) {
  long long value = -777;
  int result = sde_ti_read_counter(id, &value);
  printf("read %s: %d, value %lld\n", name, result, value);
  return value;
}

static void list_all(void) {
  int count = sde_ti_get_num_reg_events();
  printf("%d events\n", count);
  for (int i = 0; i < count + 2; ++i)
    printf("  %d: %s | %s | simple %d | overflow %d\n", i, text(sde_ti_get_event_name(i)),
           text(sde_ti_get_event_description(i)), sde_ti_is_simple_counter((uint32_t)i) != 0,
           sde_ti_is_counter_set_to_overflow((uint32_t)i) != 0);
}

static void counters(void) {
  papi_handle_t h = papi_sde_init("alpha");
  papi_handle_t again = papi_sde_init("alpha");
  SAY(h != NULL);
  SAY(h == again);
  static long long l = 5;
  static int i = 7;
  static double d = 1.5;
  static float f = 2.25f;
  SAY(papi_sde_register_counter(h, "l", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &l));
  SAY(papi_sde_register_counter(h, "i", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_int, &i));
  SAY(papi_sde_register_counter(h, "d", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_double, &d));
  SAY(papi_sde_register_counter(h, "f", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_float, &f));
  SAY(papi_sde_register_counter(h, "li", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &l));
  SAY(papi_sde_register_counter(h, "ii", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_int, &i));
  SAY(papi_sde_register_counter(h, "di", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_double, &d));
  SAY(papi_sde_register_counter(h, "fi", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_float, &f));
  SAY(papi_sde_describe_counter(h, "d", "a double"));
  SAY(papi_sde_describe_counter(h, "d", "a better double"));
  SAY(papi_sde_describe_counter(h, "missing", "nothing"));
  SAY(papi_sde_describe_counter(NULL, "d", "nothing"));
  list_all();
  const char* names[] = {"alpha::l",  "alpha::i",  "alpha::d",  "alpha::f",
                         "alpha::li", "alpha::ii", "alpha::di", "alpha::fi"};
  uint32_t ids[8];
  for (int k = 0; k < 8; ++k) ids[k] = code(names[k]);
  for (int round = 0; round < 3; ++round) {
    for (int k = 0; k < 8; ++k) {
      long long v = value_of(names[k], ids[k]);
      if (k % 4 == 2) printf("  as double %g\n", GET_DOUBLE_SDE(v));
      if (k % 4 == 3) printf("  as float %g\n", GET_FLOAT_SDE(v));
    }
    if (round == 0)
      for (int k = 0; k < 8; ++k) printf("reset %s: %d\n", names[k], sde_ti_reset_counter(ids[k]));
    l += 10;
    i += 20;
    d += 0.25;
    f += 0.5f;
  }
  for (int k = 0; k < 8; ++k) {
    printf("write %s: %d\n", names[k], sde_ti_write_counter(ids[k], 3));
    value_of(names[k], ids[k]);
  }
  printf("%lld %d %g %g\n", l, i, d, (double)f);
  SAY(papi_sde_register_counter(h, "l", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &l));
  SAY(papi_sde_register_counter(h, "l", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_int, &i));
  SAY(papi_sde_get_counter_handle(h, "l") != NULL);
  SAY(papi_sde_get_counter_handle(h, "missing") != NULL);
  SAY(papi_sde_inc_counter(papi_sde_get_counter_handle(h, "l"), 3));
  SAY(papi_sde_inc_counter(papi_sde_get_counter_handle(h, "i"), 3));
  SAY(papi_sde_reset_counter(papi_sde_get_counter_handle(h, "l")));
  printf("%lld %d\n", l, i);
  SAY(papi_sde_unregister_counter(h, "l"));
}

static long long answer(void* parameter) { return ++*(long long*)parameter; }

static void callbacks(void) {
  static long long n = 100;
  papi_handle_t h = papi_sde_init("cb");
  SAY(papi_sde_register_counter_cb(h, "delta", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, answer, &n));
  SAY(papi_sde_register_counter_cb(h, "instant", PAPI_SDE_RW | PAPI_SDE_INSTANT, PAPI_SDE_long_long, answer,
                                   &n));
  SAY(papi_sde_register_fp_counter(h, "integer", PAPI_SDE_RO, PAPI_SDE_int, answer, &n));
  list_all();
  uint32_t delta = code("cb::delta"), instant = code("cb::instant"), integer = code("cb::integer");
  value_of("delta", delta);
  SAY(sde_ti_reset_counter(delta));
  value_of("delta", delta);
  value_of("instant", instant);
  value_of("instant", instant);
  value_of("integer", integer);
  SAY(sde_ti_write_counter(instant, 5));
  value_of("instant", instant);
  SAY(papi_sde_inc_counter(papi_sde_get_counter_handle(h, "delta"), 3));
  SAY(papi_sde_reset_counter(papi_sde_get_counter_handle(h, "delta")));
  SAY(sde_ti_set_counter_overflow(delta, 10));
  SAY(papi_sde_shutdown(h));
}

static void created(void) {
  papi_handle_t h = papi_sde_init("cr");
  void *a = NULL, *b = NULL, *again = NULL;
  SAY(papi_sde_create_counter(h, "a", PAPI_SDE_DELTA, &a));
  SAY(papi_sde_create_counter(h, "b", PAPI_SDE_INSTANT | PAPI_SDE_RW, &b));
  SAY(papi_sde_create_counter(h, "a", PAPI_SDE_DELTA, &again));
  SAY(papi_sde_create_counter(h, "quiet", PAPI_SDE_DELTA, NULL));
  SAY(papi_sde_create_counter(NULL, "c", PAPI_SDE_DELTA, &again));
  SAY(papi_sde_get_counter_handle(h, "a") == a);
  list_all();
  uint32_t ia = code("cr::a"), ib = code("cr::b");
  SAY(papi_sde_inc_counter(a, 5));
  SAY(papi_sde_inc_counter(b, 6));
  SAY(papi_sde_inc_counter(NULL, 6));
  value_of("a", ia);
  value_of("b", ib);
  SAY(sde_ti_reset_counter(ia));
  SAY(sde_ti_reset_counter(ib));
  SAY(papi_sde_inc_counter(a, 5));
  SAY(papi_sde_inc_counter(b, -16));
  value_of("a", ia);
  value_of("b", ib);
  SAY(papi_sde_reset_counter(a));
  SAY(papi_sde_reset_counter(b));
  SAY(papi_sde_reset_counter(NULL));
  value_of("a", ia);
  value_of("b", ib);
  SAY(sde_ti_write_counter(ia, 9));
  SAY(sde_ti_write_counter(ib, 9));
  value_of("a", ia);
  value_of("b", ib);
  SAY(sde_ti_set_counter_overflow(ia, 10));
  SAY(sde_ti_is_counter_set_to_overflow(ia) != 0);
  SAY(sde_ti_set_counter_overflow(ia, 0));
  SAY(sde_ti_is_counter_set_to_overflow(ia) != 0);
  SAY(papi_sde_unregister_counter(h, "b"));
  list_all();
}

static int backwards(const void* a, const void* b) { return papi_sde_compare_int(b, a); }

static void recorders(void) {
  papi_handle_t h = papi_sde_init("rec");
  void *sorted = NULL, *plain = NULL, *back = NULL, *doubles = NULL, *again = NULL;
  SAY(papi_sde_create_recorder(h, "sorted", sizeof(long long), papi_sde_compare_long_long, &sorted));
  SAY(papi_sde_create_recorder(h, "plain", 3, NULL, &plain));
  SAY(papi_sde_create_recorder(h, "back", sizeof(int), backwards, &back));
  SAY(papi_sde_create_recorder(h, "doubles", sizeof(double), papi_sde_compare_double, &doubles));
  SAY(papi_sde_create_recorder(h, "sorted", sizeof(long long), papi_sde_compare_long_long, &again));
  SAY(again == sorted);
  SAY(papi_sde_create_recorder(NULL, "nowhere", 4, NULL, &again));
  SAY(papi_sde_describe_counter(h, "sorted", "values in order"));
  SAY(papi_sde_describe_counter(h, "sorted:MED", "the middle"));
  list_all();
  const char* of_sorted[] = {"rec::sorted:CNT", "rec::sorted:MIN", "rec::sorted:Q1",
                             "rec::sorted:MED", "rec::sorted:Q3",  "rec::sorted:MAX"};
  uint32_t ids[6];
  for (int k = 0; k < 6; ++k) ids[k] = code(of_sorted[k]);
  uint32_t whole = code("rec::sorted");
  uint32_t whole_plain = code("rec::plain"), plain_count = code("rec::plain:CNT");
  value_of("CNT of an empty recorder", ids[0]);
  long long nothing = -777;
  printf("MED of an empty recorder: %d\n", sde_ti_read_counter(ids[3], &nothing));
  SAY(sde_ti_read_counter(whole, &nothing));
  long long values[] = {40, 10, 30, 20, 50, 70, 60, 90, 80, 15, 25};
  for (int k = 0; k < 11; ++k) {
    if (papi_sde_record(sorted, sizeof(long long), &values[k]) != 0) printf("record %d refused\n", k);
    for (int q = 0; q < 6; ++q) {
      long long v = -777;
      int result = sde_ti_read_counter(ids[q], &v);
      if (q == 0)
        printf("after %d: %s %d %lld\n", k + 1, of_sorted[q], result, v);
      else
        printf("after %d: %s %d %lld\n", k + 1, of_sorted[q], result,
               result == 0 && v != 0 ? *GET_SDE_RECORDER_ADDRESS(v, long long) : -1);
    }
  }
  for (int q = 0; q < 6; ++q) printf("reset %s: %d\n", of_sorted[q], sde_ti_reset_counter(ids[q]));
  value_of("CNT after reset of CNT", ids[0]);
  long long v = 0;
  SAY(sde_ti_read_counter(whole, &v));
  for (int k = 0; v != 0 && k < 11; ++k) printf("%lld ", GET_SDE_RECORDER_ADDRESS(v, long long)[k]);
  printf("\n");
  SAY(papi_sde_record(NULL, 8, &values[0]));
  SAY(sde_ti_reset_counter(whole));
  value_of("CNT after reset of the recorder", ids[0]);
  SAY(papi_sde_reset_recorder(sorted));
  value_of("CNT after papi_sde_reset_recorder", ids[0]);
  SAY(papi_sde_reset_recorder(NULL));
  SAY(papi_sde_record(sorted, sizeof(long long), &values[3]));
  value_of("CNT", ids[0]);
  SAY(papi_sde_record(plain, 3, "abc"));
  SAY(papi_sde_record(plain, 3, "def"));
  SAY(papi_sde_record(plain, 3, "ghi"));
  value_of("plain CNT", plain_count);
  SAY(sde_ti_read_counter(whole_plain, &v));
  if (v) printf("%.9s\n", (const char*)v);
  for (int k = 1; k < 4000; ++k) papi_sde_record(back, sizeof k, &k);
  uint32_t least = code("rec::back:MIN"), most = code("rec::back:MAX"), middle = code("rec::back:MED");
  value_of("back count", code("rec::back:CNT"));
  if (sde_ti_read_counter(least, &v) == 0 && v) printf("least %d\n", *(int*)v);
  if (sde_ti_read_counter(most, &v) == 0 && v) printf("most %d\n", *(int*)v);
  if (sde_ti_read_counter(middle, &v) == 0 && v) printf("middle %d\n", *(int*)v);
  uint32_t back_whole = code("rec::back");
  if (sde_ti_read_counter(back_whole, &v) == 0 && v) {
    long long sum = 0;
    for (int k = 0; k < 3999; ++k) sum += ((int*)v)[k] * (long long)(k + 1);
    printf("weighed sum %lld\n", sum);
  }
  SAY(papi_sde_inc_counter(sorted, 1));
  SAY(papi_sde_reset_counter(sorted));
  SAY(papi_sde_record(papi_sde_get_counter_handle(h, "sorted"), sizeof(long long), &values[3]));
  SAY(sde_ti_write_counter(whole, 1));
  SAY(papi_sde_get_counter_handle(h, "sorted") == sorted);
}

static void groups(void) {
  papi_handle_t h = papi_sde_init("gr");
  static long long a = 1, b = 20;
  static int i = 300;
  static double d = 0.5;
  void* c = NULL;
  papi_sde_register_counter(h, "a", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &a);
  papi_sde_register_counter(h, "b", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &b);
  papi_sde_register_counter(h, "i", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_int, &i);
  papi_sde_register_counter(h, "d", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_double, &d);
  papi_sde_create_counter(h, "c", PAPI_SDE_DELTA, &c);
  papi_sde_inc_counter(c, 4000);
  SAY(papi_sde_add_counter_to_group(h, "a", "sum", PAPI_SDE_SUM));
  SAY(papi_sde_add_counter_to_group(h, "b", "sum", PAPI_SDE_SUM));
  SAY(papi_sde_add_counter_to_group(h, "i", "sum", PAPI_SDE_SUM));
  SAY(papi_sde_add_counter_to_group(h, "c", "sum", PAPI_SDE_SUM));
  SAY(papi_sde_add_counter_to_group(h, "a", "sum", PAPI_SDE_MAX));
  SAY(papi_sde_add_counter_to_group(h, "a", "most", PAPI_SDE_MAX));
  SAY(papi_sde_add_counter_to_group(h, "b", "most", PAPI_SDE_MAX));
  SAY(papi_sde_add_counter_to_group(h, "b", "least", PAPI_SDE_MIN));
  SAY(papi_sde_add_counter_to_group(h, "c", "least", PAPI_SDE_MIN));
  SAY(papi_sde_add_counter_to_group(h, "sum", "deep", PAPI_SDE_MAX));
  SAY(papi_sde_add_counter_to_group(h, "b", "deep", PAPI_SDE_MAX));
  SAY(papi_sde_add_counter_to_group(h, "missing", "sum", PAPI_SDE_SUM));
  SAY(papi_sde_add_counter_to_group(NULL, "a", "sum", PAPI_SDE_SUM));
  SAY(papi_sde_describe_counter(h, "sum", "all of them"));
  list_all();
  value_of("sum", code("gr::sum"));
  value_of("most", code("gr::most"));
  value_of("deep", code("gr::deep"));
  SAY(sde_ti_reset_counter(code("gr::sum")));
  value_of("sum after reset", code("gr::sum"));
  value_of("c after reset of sum", code("gr::c"));
  a += 7;
  papi_sde_inc_counter(c, 11);
  value_of("sum", code("gr::sum"));
  SAY(papi_sde_add_counter_to_group(h, "a", "sum", PAPI_SDE_SUM));
  value_of("sum with a twice?", code("gr::sum"));
  SAY(sde_ti_write_counter(code("gr::sum"), 1));
}

static void placeholders(void) {
  uint32_t early = code("later::x"), created_early = code("later::c");
  code("later::g");
  list_all();
  SAY(sde_ti_reset_counter(early));
  SAY(sde_ti_write_counter(early, 3));
  SAY(code("later::x") == early);
  static long long x = 50;
  papi_handle_t h = papi_sde_init("later");
  SAY(papi_sde_describe_counter(h, "x", "described early"));
  SAY(papi_sde_register_counter(h, "x", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &x));
  SAY(code("later::x") == early);
  value_of("x", early);
  void* c = NULL;
  SAY(papi_sde_create_counter(h, "c", PAPI_SDE_DELTA, &c));
  papi_sde_inc_counter(c, 12);
  value_of("c", created_early);
  SAY(papi_sde_add_counter_to_group(h, "x", "g", PAPI_SDE_SUM));
  SAY(papi_sde_add_counter_to_group(h, "c", "g", PAPI_SDE_SUM));
  list_all();
  code("nolibrary");
  code("a::b::c");
  code("");
  code("later::x::y");
  list_all();
  SAY(papi_sde_unregister_counter(papi_sde_init("a"), "b::c"));
  SAY(papi_sde_get_counter_handle(h, "x::y") != NULL);
  SAY(papi_sde_shutdown(h));
  list_all();
}

static void early_recorder(void) {
  uint32_t whole = code("er::r"), count = code("er::r:CNT"), median = code("er::r:MED"), set = code("er::s");
  papi_handle_t h = papi_sde_init("er");
  void* r = NULL;
  void* s = NULL;
  SAY(papi_sde_create_recorder(h, "r", sizeof(int), papi_sde_compare_int, &r));
  SAY(papi_sde_create_counting_set(h, "s", &s));
  int v = 33;
  SAY(papi_sde_record(r, sizeof v, &v));
  value_of("CNT", count);
  long long got = 0;
  SAY(sde_ti_read_counter(median, &got));
  if (got) printf("%d\n", *(int*)got);
  got = 0;
  SAY(sde_ti_read_counter(whole, &got));
  if (got) printf("%d\n", *(int*)got);
  SAY(papi_sde_counting_set_insert(s, sizeof v, sizeof v, &v, 1));
  got = 0;
  SAY(sde_ti_read_counter(set, &got));
  if (got) printf("%u\n", ((cset_list_object_t*)got)->count);
  list_all();
}

static int by_content(const void* a, const void* b) {
  const cset_list_object_t* x = *(const cset_list_object_t* const*)a;
  const cset_list_object_t* y = *(const cset_list_object_t* const*)b;
  if (x->type_id != y->type_id) return x->type_id < y->type_id ? -1 : 1;
  if (x->type_size != y->type_size) return x->type_size < y->type_size ? -1 : 1;
  return memcmp(x->ptr, y->ptr, x->type_size);
}

static void show_set(uint32_t id) {
  long long v = -777;
  int result = sde_ti_read_counter(id, &v);
  printf("set: %d\n", result);
  if (result != 0 || v == 0) return;
  cset_list_object_t* all[4096];
  int n = 0;
  for (cset_list_object_t* at = (cset_list_object_t*)v; at != NULL && n < 4096; at = at->next) all[n++] = at;
  qsort(all, (size_t)n, sizeof all[0], by_content);
  printf("%d elements\n", n);
  for (int i = 0; i < n; ++i) {
    if (i < 20) {
      printf("  count %u type %u size %zu:", all[i]->count, all[i]->type_id, all[i]->type_size);
      for (size_t k = 0; k < all[i]->type_size; ++k) printf(" %02x", ((unsigned char*)all[i]->ptr)[k]);
      printf("\n");
    }
  }
}

static void sets(void) {
  papi_handle_t h = papi_sde_init("cs");
  void *s = NULL, *again = NULL, *many = NULL;
  SAY(papi_sde_create_counting_set(h, "s", &s));
  SAY(papi_sde_create_counting_set(h, "s", &again));
  SAY(papi_sde_create_counting_set(h, "many", &many));
  SAY(papi_sde_create_counting_set(NULL, "s", &again));
  SAY(papi_sde_get_counter_handle(h, "s") == s);
  list_all();
  uint32_t id = code("cs::s");
  show_set(id);
  // PAPI hashes sixteen bytes from an element of four on.
  int v[4] = {1};
  SAY(papi_sde_counting_set_insert(s, sizeof *v, sizeof *v, v, 1));
  SAY(papi_sde_counting_set_insert(s, sizeof *v, sizeof *v, v, 1));
  SAY(papi_sde_counting_set_insert(s, sizeof *v, sizeof *v, v, 2));
  *v = 2;
  SAY(papi_sde_counting_set_insert(s, sizeof *v, sizeof *v, v, 1));
  char wide[16] = "abcdefg";
  SAY(papi_sde_counting_set_insert(s, 8, 4, wide, 3));
  wide[6] = 'X';
  SAY(papi_sde_counting_set_insert(s, 8, 4, wide, 3));
  SAY(papi_sde_counting_set_insert(NULL, 8, 4, wide, 3));
  show_set(id);
  SAY(papi_sde_counting_set_remove(s, sizeof *v, v, 1));
  *v = 1;
  SAY(papi_sde_counting_set_remove(s, sizeof *v, v, 1));
  SAY(papi_sde_counting_set_remove(s, sizeof *v, v, 1));
  show_set(id);
  SAY(papi_sde_counting_set_remove(s, sizeof *v, v, 1));
  SAY(papi_sde_counting_set_remove(s, sizeof *v, v, 7));
  SAY(papi_sde_counting_set_remove(NULL, 4, wide, 3));
  show_set(id);
  SAY(sde_ti_reset_counter(id));
  show_set(id);
  for (int k = 0; k < 3000; ++k) {
    int e[4] = {k % 1500};
    if (papi_sde_counting_set_insert(many, sizeof *e, sizeof *e, e, 0) != 0) printf("refused %d\n", k);
  }
  show_set(code("cs::many"));
  SAY(sde_ti_write_counter(id, 1));
  SAY(papi_sde_inc_counter(s, 1));
  SAY(papi_sde_record(s, 4, wide));
  SAY(papi_sde_counting_set_insert(papi_sde_get_counter_handle(h, "s"), sizeof *v, sizeof *v, v, 1));
  show_set(id);
  SAY(papi_sde_destroy_counting_set(h, "s"));
  list_all();
}

static void libraries(void) {
  static long long x = 1, y = 2;
  papi_handle_t one = papi_sde_init("one"), two = papi_sde_init("two");
  papi_sde_register_counter(one, "x", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &x);
  papi_sde_register_counter(two, "x", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &y);
  list_all();
  value_of("one", code("one::x"));
  value_of("two", code("two::x"));
  SAY(papi_sde_shutdown(one));
  list_all();
  value_of("two", code("two::x"));
  SAY(papi_sde_shutdown(NULL));
  SAY(sde_ti_shutdown());
}

static void nothing_registered(void) {
  list_all();
  long long v = -777;
  SAY(sde_ti_read_counter(0, &v));
  SAY(sde_ti_write_counter(0, 1));
  SAY(sde_ti_reset_counter(0));
  SAY(papi_sde_register_counter(NULL, "x", PAPI_SDE_RO, PAPI_SDE_long_long, &v));
  SAY(papi_sde_register_counter_cb(NULL, "x", PAPI_SDE_RO, PAPI_SDE_long_long, answer, &v));
  SAY(papi_sde_get_counter_handle(NULL, "x") == NULL);
  long long a = 1, b = 2;
  double c = 1, d = 2;
  float e = 1, f = 2;
  int g = 1, i = 2;
  printf("%d %d %d\n", papi_sde_compare_long_long(&a, &b), papi_sde_compare_long_long(&b, &a),
         papi_sde_compare_long_long(&a, &a));
  printf("%d %d %d\n", papi_sde_compare_double(&c, &d), papi_sde_compare_double(&d, &c),
         papi_sde_compare_double(&c, &c));
  printf("%d %d %d\n", papi_sde_compare_float(&e, &f), papi_sde_compare_float(&f, &e),
         papi_sde_compare_float(&e, &e));
  printf("%d %d %d\n", papi_sde_compare_int(&g, &i), papi_sde_compare_int(&i, &g),
         papi_sde_compare_int(&g, &g));
  SAY(_sde_debug);
  SAY(_sde_be_verbose);
}

/* What a tool writes. */
static void writing(void) {
  papi_handle_t h = papi_sde_init("odd");
  static long long x = 1;
  papi_sde_register_counter(h, "rw delta", PAPI_SDE_RW | PAPI_SDE_DELTA, PAPI_SDE_long_long, &x);
  uint32_t id = code("odd::rw delta");
  value_of("rw delta", id);
  SAY(sde_ti_write_counter(id, 44));
  value_of("rw delta", id);
  SAY(sde_ti_reset_counter(id));
  value_of("rw delta", id);
  SAY(sde_ti_write_counter(id, 50));
  value_of("rw delta", id);
  SAY(x);
}

static const struct {
  const char* name;
  void (*run)(void);
} kScenarios[] = {{"counters", counters},
                  {"callbacks", callbacks},
                  {"created", created},
                  {"recorders", recorders},
                  {"groups", groups},
                  {"placeholders", placeholders},
                  {"early_recorder", early_recorder},
                  {"sets", sets},
                  {"libraries", libraries},
                  {"nothing_registered", nothing_registered},
                  {"writing", writing}};

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  for (size_t i = 0; i < sizeof kScenarios / sizeof kScenarios[0]; ++i)
    if (argc == 2 && strcmp(argv[1], kScenarios[i].name) == 0) {
      kScenarios[i].run();
      printf("end\n");
      return 0;
    }
  fprintf(stderr, "usage: conversation SCENARIO\n");
  return 2;
}
