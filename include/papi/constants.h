/* Numbers of the interface: error codes, states, domains, granularities, options, flags and sizes. */
#ifndef PAPI_PAPI_CONSTANTS_H
#define PAPI_PAPI_CONSTANTS_H

/* What a call returns: PAPI_OK, a count, or one of these (PAPI_strerror gives the text). */
#define PAPI_OK 0
#define PAPI_EINVAL (-1)         /* an argument is wrong */
#define PAPI_ENOMEM (-2)         /* no memory */
#define PAPI_ESYS (-3)           /* a system or C library call failed; see errno */
#define PAPI_ECMP (-4)           /* the component does not support it */
#define PAPI_ESBSTR PAPI_ECMP    /* its older name */
#define PAPI_ECLOST (-5)         /* access to the counters was lost */
#define PAPI_EBUG (-6)           /* a defect of the library */
#define PAPI_ENOEVNT (-7)        /* no such event */
#define PAPI_ECNFLCT (-8)        /* the events cannot be counted together */
#define PAPI_ENOTRUN (-9)        /* the event set is not running */
#define PAPI_EISRUN (-10)        /* an event set is running */
#define PAPI_ENOEVST (-11)       /* no such event set */
#define PAPI_ENOTPRESET (-12)    /* not a preset event */
#define PAPI_ENOCNTR (-13)       /* the hardware has no counters */
#define PAPI_EMISC (-14)         /* unknown error */
#define PAPI_EPERM (-15)         /* permission refused */
#define PAPI_ENOINIT (-16)       /* PAPI_library_init has not been called */
#define PAPI_ENOCMP (-17)        /* no such component, or none assigned */
#define PAPI_ENOSUPP (-18)       /* not supported */
#define PAPI_ENOIMPL (-19)       /* not implemented */
#define PAPI_EBUF (-20)          /* a buffer is too small */
#define PAPI_EINVAL_DOM (-21)    /* the domain is not supported for this operation */
#define PAPI_EATTR (-22)         /* event attributes are wrong or missing */
#define PAPI_ECOUNT (-23)        /* too many events or attributes */
#define PAPI_ECOMBO (-24)        /* features that exclude each other */
#define PAPI_ECMP_DISABLED (-25) /* the event's component is disabled */
#define PAPI_EDELAY_INIT (-26)   /* the component initialises itself at first use */
#define PAPI_EMULPASS (-27)      /* the event exists but needs several passes */
#ifdef PAPI_GENERATION_7_0
#define PAPI_NUM_ERRORS 28
#else
#define PAPI_PARTIAL (-28) /* the component is usable in part */
#define PAPI_NUM_ERRORS 29
#endif

/* PAPI_is_initialized: bits. */
#define PAPI_NOT_INITED 0
#define PAPI_LOW_LEVEL_INITED 1
#define PAPI_HIGH_LEVEL_INITED 2
#define PAPI_THREAD_LEVEL_INITED 4

#define PAPI_NULL (-1) /* no event, no event set */

/* Domains: in which processor modes events count. */
#define PAPI_DOM_USER 0x1
#define PAPI_DOM_KERNEL 0x2
#define PAPI_DOM_OTHER 0x4
#define PAPI_DOM_SUPERVISOR 0x8
#define PAPI_DOM_ALL (PAPI_DOM_USER | PAPI_DOM_KERNEL | PAPI_DOM_OTHER | PAPI_DOM_SUPERVISOR)
#define PAPI_DOM_MIN PAPI_DOM_USER
#define PAPI_DOM_MAX PAPI_DOM_ALL
#define PAPI_DOM_HWSPEC 0x80000000 /* not a processor: other meanings apply */

/* Granularities: whom an event set counts. */
#define PAPI_GRN_THR 0x1
#define PAPI_GRN_PROC 0x2
#define PAPI_GRN_PROCG 0x4
#define PAPI_GRN_SYS 0x8      /* the current processor */
#define PAPI_GRN_SYS_CPU 0x10 /* every processor by itself */
#define PAPI_GRN_MIN PAPI_GRN_THR
#define PAPI_GRN_MAX PAPI_GRN_SYS_CPU

/* States of an event set: bits. */
#define PAPI_STOPPED 0x01
#define PAPI_RUNNING 0x02
#define PAPI_PAUSED 0x04
#define PAPI_NOT_INIT 0x08
#define PAPI_OVERFLOWING 0x10
#define PAPI_PROFILING 0x20
#define PAPI_MULTIPLEXING 0x40
#define PAPI_ATTACHED 0x80
#define PAPI_CPU_ATTACHED 0x100

/* Places for thread-specific pointers. */
#define PAPI_USR1_TLS 0x0
#define PAPI_USR2_TLS 0x1
#define PAPI_TLS_HIGH_LEVEL 0x2
#define PAPI_NUM_TLS 0x3
#define PAPI_TLS_USR1 PAPI_USR1_TLS
#define PAPI_TLS_USR2 PAPI_USR2_TLS
#define PAPI_TLS_NUM PAPI_NUM_TLS
#define PAPI_TLS_ALL_THREADS 0x10 /* or-ed to a place: ask for every thread's pointer */

/* Locks for clients. */
#define PAPI_USR1_LOCK 0x0
#define PAPI_USR2_LOCK 0x1
#define PAPI_NUM_LOCK 0x2
#define PAPI_LOCK_USR1 PAPI_USR1_LOCK
#define PAPI_LOCK_USR2 PAPI_USR2_LOCK
#define PAPI_LOCK_NUM PAPI_NUM_LOCK

/* Processor makers. */
#define PAPI_VENDOR_UNKNOWN 0
#define PAPI_VENDOR_INTEL 1
#define PAPI_VENDOR_AMD 2
#define PAPI_VENDOR_IBM 3
#define PAPI_VENDOR_CRAY 4
#define PAPI_VENDOR_SUN 5
#define PAPI_VENDOR_FREESCALE 6
#define PAPI_VENDOR_ARM 7
#define PAPI_VENDOR_MIPS 8
/* Makers of Arm processors, as reported by MIDR. */
#define PAPI_VENDOR_ARM_ARM 0x41
#define PAPI_VENDOR_ARM_BROADCOM 0x42
#define PAPI_VENDOR_ARM_CAVIUM 0x43
#define PAPI_VENDOR_ARM_FUJITSU 0x46
#define PAPI_VENDOR_ARM_HISILICON 0x48
#define PAPI_VENDOR_ARM_APM 0x50
#define PAPI_VENDOR_ARM_QUALCOMM 0x51

/* PAPI_set_debug: what the library does with an error it returns. */
#define PAPI_QUIET 0      /* nothing */
#define PAPI_VERB_ECONT 1 /* print it and go on */
#define PAPI_VERB_ESTOP 2 /* print it and exit */

/* PAPI_profil. */
#define PAPI_PROFIL_POSIX 0x0
#define PAPI_PROFIL_RANDOM 0x1
#define PAPI_PROFIL_WEIGHTED 0x2
#define PAPI_PROFIL_COMPRESS 0x4
#define PAPI_PROFIL_BUCKET_16 0x8
#define PAPI_PROFIL_BUCKET_32 0x10
#define PAPI_PROFIL_BUCKET_64 0x20
#define PAPI_PROFIL_FORCE_SW 0x40
#define PAPI_PROFIL_DATA_EAR 0x80
#define PAPI_PROFIL_INST_EAR 0x100
#define PAPI_PROFIL_BUCKETS (PAPI_PROFIL_BUCKET_16 | PAPI_PROFIL_BUCKET_32 | PAPI_PROFIL_BUCKET_64)

/* PAPI_overflow. */
#define PAPI_OVERFLOW_FORCE_SW 0x40
#define PAPI_OVERFLOW_HARDWARE 0x80

#define PAPI_MULTIPLEX_DEFAULT 0x0  /* by the kernel where it can */
#define PAPI_MULTIPLEX_FORCE_SW 0x1 /* by the library */

#define PAPI_INHERIT_ALL 1
#define PAPI_INHERIT_NONE 0

/* PAPI_get_opt and PAPI_set_opt: which option. */
#define PAPI_DETACH 1
#define PAPI_DEBUG 2
#define PAPI_MULTIPLEX 3
#define PAPI_DEFDOM 4
#define PAPI_DOMAIN 5
#define PAPI_DEFGRN 6
#define PAPI_GRANUL 7
#define PAPI_DEF_MPX_NS 8
#define PAPI_MAX_MPX_CTRS 11
#define PAPI_PROFIL 12
#define PAPI_PRELOAD 13
#define PAPI_CLOCKRATE 14
#define PAPI_MAX_HWCTRS 15
#define PAPI_HWINFO 16
#define PAPI_EXEINFO 17
#define PAPI_MAX_CPUS 18
#define PAPI_ATTACH 19
#define PAPI_SHLIBINFO 20
#define PAPI_LIB_VERSION 21
#define PAPI_COMPONENTINFO 22
#define PAPI_DATA_ADDRESS 23
#define PAPI_INSTR_ADDRESS 24
#define PAPI_DEF_ITIMER 25
#define PAPI_DEF_ITIMER_NS 26
#define PAPI_CPU_ATTACH 27
#define PAPI_INHERIT 28
#define PAPI_USER_EVENTS_FILE 29

/* Sizes of strings and tables in the structures, in bytes or entries. */
#define PAPI_INIT_SLOTS 64
#define PAPI_MIN_STR_LEN 64
#define PAPI_MAX_STR_LEN 128
#define PAPI_2MAX_STR_LEN 256
#define PAPI_HUGE_STR_LEN 1024
#define PAPI_PMU_MAX 80
#define PAPI_MAX_INFO_TERMS 12
#ifndef PAPI_GENERATION_7_0
#define PAPI_MAX_COMP_QUALS 8
#endif

#define PAPI_DERIVED 0x1 /* the event is computed of several */

/* PAPI_enum_event and PAPI_enum_cmp_event: which event is wanted next. */
enum {
  PAPI_ENUM_EVENTS = 0, /* the next one of any kind */
  PAPI_ENUM_FIRST,      /* the first one */
#ifndef PAPI_GENERATION_7_0
  PAPI_PRESET_ENUM_FIRST_COMP, /* the first preset of a component */
#endif
  PAPI_PRESET_ENUM_AVAIL, /* presets that can be used here */
  PAPI_PRESET_ENUM_MSC,   /* presets by class: miscellaneous, */
  PAPI_PRESET_ENUM_INS,   /* instructions, */
  PAPI_PRESET_ENUM_IDL,   /* stalls and idle units, */
  PAPI_PRESET_ENUM_BR,    /* branches, */
  PAPI_PRESET_ENUM_CND,   /* conditionals, */
  PAPI_PRESET_ENUM_MEM,   /* memory, */
  PAPI_PRESET_ENUM_CACH,  /* caches, */
  PAPI_PRESET_ENUM_L1,    /* the cache levels, */
  PAPI_PRESET_ENUM_L2,
  PAPI_PRESET_ENUM_L3,
  PAPI_PRESET_ENUM_TLB, /* translation, */
  PAPI_PRESET_ENUM_FP,  /* floating point */
#ifndef PAPI_GENERATION_7_0
  PAPI_PRESET_ENUM_CPU,       /* presets of the processor */
  PAPI_PRESET_ENUM_CPU_AVAIL, /* those of them that can be used here */
#endif
  PAPI_NTV_ENUM_UMASKS,       /* qualifiers of a native event */
  PAPI_NTV_ENUM_UMASK_COMBOS, /* their combinations */
  PAPI_NTV_ENUM_IARR,         /* native events that take an instruction range, */
  PAPI_NTV_ENUM_DARR,         /* a data range, */
  PAPI_NTV_ENUM_OPCM,         /* an opcode match, */
  PAPI_NTV_ENUM_IEAR,         /* instruction or data event registers */
  PAPI_NTV_ENUM_DEAR,
  PAPI_NTV_ENUM_GROUPS /* native events by group */
};
#define PAPI_ENUM_ALL PAPI_ENUM_EVENTS

/* Classes of presets in PAPI_event_info_t::event_type: one bit for each enumerator above. */
#define PAPI_PRESET_BIT_MSC (1 << PAPI_PRESET_ENUM_MSC)
#define PAPI_PRESET_BIT_INS (1 << PAPI_PRESET_ENUM_INS)
#define PAPI_PRESET_BIT_IDL (1 << PAPI_PRESET_ENUM_IDL)
#define PAPI_PRESET_BIT_BR (1 << PAPI_PRESET_ENUM_BR)
#define PAPI_PRESET_BIT_CND (1 << PAPI_PRESET_ENUM_CND)
#define PAPI_PRESET_BIT_MEM (1 << PAPI_PRESET_ENUM_MEM)
#define PAPI_PRESET_BIT_CACH (1 << PAPI_PRESET_ENUM_CACH)
#define PAPI_PRESET_BIT_L1 (1 << PAPI_PRESET_ENUM_L1)
#define PAPI_PRESET_BIT_L2 (1 << PAPI_PRESET_ENUM_L2)
#define PAPI_PRESET_BIT_L3 (1 << PAPI_PRESET_ENUM_L3)
#define PAPI_PRESET_BIT_TLB (1 << PAPI_PRESET_ENUM_TLB)
#define PAPI_PRESET_BIT_FP (1 << PAPI_PRESET_ENUM_FP)

#define PAPI_NTV_GROUP_AND_MASK 0x00FF0000
#define PAPI_NTV_GROUP_SHIFT 16

/* Caches and translation buffers: kind, write policy, replacement, allocation. */
#define PAPI_MH_TYPE_EMPTY 0x0
#define PAPI_MH_TYPE_INST 0x1
#define PAPI_MH_TYPE_DATA 0x2
#define PAPI_MH_TYPE_VECTOR 0x4
#define PAPI_MH_TYPE_TRACE 0x8
#define PAPI_MH_TYPE_UNIFIED (PAPI_MH_TYPE_INST | PAPI_MH_TYPE_DATA)
#define PAPI_MH_CACHE_TYPE(a) ((a)&0xf)
#define PAPI_MH_TYPE_WT 0x00
#define PAPI_MH_TYPE_WB 0x10
#define PAPI_MH_CACHE_WRITE_POLICY(a) ((a)&0xf0)
#define PAPI_MH_TYPE_UNKNOWN 0x000
#define PAPI_MH_TYPE_LRU 0x100
#define PAPI_MH_TYPE_PSEUDO_LRU 0x200
#define PAPI_MH_TYPE_FIFO 0x400
#define PAPI_MH_CACHE_REPLACEMENT_POLICY(a) ((a)&0xf00)
#define PAPI_MH_TYPE_TLB 0x1000
#define PAPI_MH_TYPE_PREF 0x2000
#define PAPI_MH_TYPE_RD_ALLOC 0x10000
#define PAPI_MH_TYPE_WR_ALLOC 0x20000
#define PAPI_MH_TYPE_RW_ALLOC 0x40000
#define PAPI_MH_CACHE_ALLOCATION_POLICY(a) ((a)&0xf0000)
#define PAPI_MH_MAX_LEVELS 6
#define PAPI_MAX_MEM_HIERARCHY_LEVELS 4

/* Fortran: places of PAPI_dmem_info_t's members in the array PAPIF_get_dmem_info fills. */
#define PAPIF_DMEM_VMPEAK 1
#define PAPIF_DMEM_VMSIZE 2
#define PAPIF_DMEM_RESIDENT 3
#define PAPIF_DMEM_HIGH_WATER 4
#define PAPIF_DMEM_SHARED 5
#define PAPIF_DMEM_TEXT 6
#define PAPIF_DMEM_LIBRARY 7
#define PAPIF_DMEM_HEAP 8
#define PAPIF_DMEM_LOCKED 9
#define PAPIF_DMEM_STACK 10
#define PAPIF_DMEM_PAGESIZE 11
#define PAPIF_DMEM_PTE 12
#define PAPIF_DMEM_MAXVAL 12

/* PAPI_event_info_t: what a value covers, its type, and how it comes about. */
enum { PAPI_LOCATION_CORE = 0, PAPI_LOCATION_CPU, PAPI_LOCATION_PACKAGE, PAPI_LOCATION_UNCORE };
enum { PAPI_DATATYPE_INT64 = 0, PAPI_DATATYPE_UINT64, PAPI_DATATYPE_FP64, PAPI_DATATYPE_BIT64 };
enum { PAPI_VALUETYPE_RUNNING_SUM = 0, PAPI_VALUETYPE_ABSOLUTE };
enum {
  PAPI_TIMESCOPE_SINCE_START = 0,
  PAPI_TIMESCOPE_SINCE_LAST,
  PAPI_TIMESCOPE_UNTIL_NEXT,
  PAPI_TIMESCOPE_POINT
};
enum { PAPI_UPDATETYPE_ARBITRARY = 0, PAPI_UPDATETYPE_PUSH, PAPI_UPDATETYPE_PULL, PAPI_UPDATETYPE_FIXEDFREQ };

#endif
