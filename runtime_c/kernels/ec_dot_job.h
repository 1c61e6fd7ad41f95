/* Micro-kernels whose sums are memory, as those of a matrix unit (SME's ZA, AMX's tiles) are: no C value
   holds them, the unit has a mode of its own, and vectors are computed with outside of that.  The headers
   of such rows include this, and define, in place of the functions of ec_micro_kernel.h,

     ec_<row>_jobs          what a stretch of jobs needs beside them, on the stack of the kernel
     ec_<row>_enter(jobs), ec_<row>_leave(jobs)   around every stretch of jobs: what takes long is to be
                            done here, once; between them kernels call nothing of the ISA but jobs
     ec_<row>_dot(jobs, job)   the products of a job, below, at once or by the end of the stretch: what
                            it reads stays as it is until then, and nothing looks at its sums
     ec_<row>_vector(words) EC_VL sums that a job has brought to memory, in float32; outside
     ec_permission()        where the table says so (permission): asked by init, 0 where the core has the
                            unit and its system lets the process use it

   Sums may stay in the unit from job to job.  Neither mr nor nv need be constants, and a tile may have
   more vectors than registers.  Where the table says that depth comes in multiples (k_multiple), every
   job's does: filters are filled up with zeros, and rows with any numbers that are finite. */
#ifndef EC_DOT_JOB_H
#define EC_DOT_JOB_H

/* What the sums of a job begin with: nothing; start[their row] or start[their column]; start[row *
   sums_row + column], which may be where they go; or what the job before has left in the unit. */
enum ec_dot_begin { EC_DOT_ZERO, EC_DOT_ROWS, EC_DOT_COLUMNS, EC_DOT_EACH, EC_DOT_GO_ON };

/* Products of mr rows by nv vectors: a, a_row, a_k, b and depth as ec_<row>_mac has them, or none where
   depth is 0.  sums: where they go, words of the type of the sums, sums_row from row to row; NULL: the
   next job, which goes on with them, is of as many rows and vectors. */
typedef struct ec_dot_job {
    const void *a, *b;
    ptrdiff_t a_row, a_k;
    int depth, mr, nv;
    int begin;
    const void *start;
    void *sums;
    ptrdiff_t sums_row;
} ec_dot_job;

#endif
