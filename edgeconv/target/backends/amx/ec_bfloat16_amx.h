/* The micro-kernel bf16_amx: products of tiles of bfloat16 by AMX-BF16, summed in float32.  Included after
   ec_isa_avx512.h.

   A word holds a pair: an even channel in its lower half, the odd one behind it in the upper half.
   tdpbf16ps sums the products of even channels of a tile, those of odd ones, and adds both to the sum, rounded
   to nearest even each time; subnormal numbers count as zero, as operands and as results. */
#ifndef EC_BFLOAT16_AMX_H
#define EC_BFLOAT16_AMX_H

#if !defined(__AMX_BF16__) && !defined(__AMXBF16__) /* by Clang before 16 */
#error "Multiplying tiles of bfloat16 needs AMX-BF16: compile with -mamx-tile -mamx-bf16"
#endif

#include "ec_bfloat16_avx512.h"
#include "ec_amx_jobs.h"

typedef ec_amx_jobs ec_bf16_amx_jobs;
#define ec_bf16_amx_enter ec_amx_enter
#define ec_bf16_amx_leave ec_amx_leave

EC_SHARED void ec_bf16_amx_dot(ec_amx_jobs *jobs, const ec_dot_job *job) { ec_amx_dot(jobs, job, EC_AMX_BFLOAT16); }

EC_INLINE ec_vec ec_bf16_amx_vector(const void *words) { return ec_load(words); }

#endif
