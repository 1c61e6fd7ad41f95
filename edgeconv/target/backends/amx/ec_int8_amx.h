/* The micro-kernel s8_amx: products of tiles of int8 by AMX-INT8, summed in int32.  Included after
   ec_isa_avx512.h. */
#ifndef EC_INT8_AMX_H
#define EC_INT8_AMX_H

#if !defined(__AMX_INT8__) && !defined(__AMXINT8__) /* by Clang before 16 */
#error "Multiplying tiles of int8 needs AMX-INT8: compile with -mamx-tile -mamx-int8"
#endif

#include "ec_int8_avx512.h"
#include "ec_amx_jobs.h"

typedef ec_amx_jobs ec_s8_amx_jobs;
#define ec_s8_amx_enter ec_amx_enter
#define ec_s8_amx_leave ec_amx_leave

EC_SHARED void ec_s8_amx_dot(ec_amx_jobs *jobs, const ec_dot_job *job) { ec_amx_dot(jobs, job, EC_AMX_INT8); }

EC_INLINE ec_vec ec_s8_amx_vector(const void *words) { return ec_ireal(ec_iload(words)); }

#endif
