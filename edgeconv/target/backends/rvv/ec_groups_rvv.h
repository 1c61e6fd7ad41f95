/* Groups of registers on RVV: vectors side by side of which an instruction takes 1, 2, 4 or 8 (LMUL).  Included
   by ec_rvv.h. */

typedef vfloat32m2_t ec_vec_m2 EC_FIXED(2);
typedef vfloat32m4_t ec_vec_m4 EC_FIXED(4);
typedef vfloat32m8_t ec_vec_m8 EC_FIXED(8);

/* The largest group that nv vectors are whole ones of. */
EC_INLINE int ec_group_of(int nv) { return nv % 8 == 0 ? 8 : nv % 4 == 0 ? 4 : nv % 2 == 0 ? 2 : 1; }

/* A group of the size that is in use; the others are never touched, and vanish. */
typedef struct ec_group {
    ec_vec m1;
    ec_vec_m2 m2;
    ec_vec_m4 m4;
    ec_vec_m8 m8;
} ec_group;

/* Vector j of a group; places in groups are constants where they are written. */
EC_INLINE ec_vec ec_of_m2(ec_vec_m2 of, int j)
{
    return j ? __riscv_vget_v_f32m2_f32m1(of, 1) : __riscv_vget_v_f32m2_f32m1(of, 0);
}
EC_INLINE ec_vec ec_of_m4(ec_vec_m4 of, int j)
{
    return ec_of_m2(j < 2 ? __riscv_vget_v_f32m4_f32m2(of, 0) : __riscv_vget_v_f32m4_f32m2(of, 1), j % 2);
}
EC_INLINE ec_vec ec_of_m8(ec_vec_m8 of, int j)
{
    return ec_of_m4(j < 4 ? __riscv_vget_v_f32m8_f32m4(of, 0) : __riscv_vget_v_f32m8_f32m4(of, 1), j % 4);
}

/* The group of vectors that follow each other. */
EC_INLINE ec_vec_m2 ec_join_m2(const ec_vec *v) { return __riscv_vcreate_v_f32m1_f32m2(v[0], v[1]); }
EC_INLINE ec_vec_m4 ec_join_m4(const ec_vec *v)
{
    return __riscv_vcreate_v_f32m2_f32m4(ec_join_m2(v), ec_join_m2(v + 2));
}
EC_INLINE ec_vec_m8 ec_join_m8(const ec_vec *v)
{
    return __riscv_vcreate_v_f32m4_f32m8(ec_join_m4(v), ec_join_m4(v + 4));
}

/* `group` vectors of float32 from p on; x in all lanes. */
EC_INLINE ec_group ec_group_load(const float *p, int group)
{
    ec_group found;
    switch (group) {
    case 1: found.m1 = ec_load(p); break;
    case 2: found.m2 = __riscv_vle32_v_f32m2(p, 2 * EC_VL); break;
    case 4: found.m4 = __riscv_vle32_v_f32m4(p, 4 * EC_VL); break;
    default: found.m8 = __riscv_vle32_v_f32m8(p, 8 * EC_VL);
    }
    return found;
}
EC_INLINE ec_group ec_group_set1(float x, int group)
{
    ec_group found;
    switch (group) {
    case 1: found.m1 = ec_set1(x); break;
    case 2: found.m2 = __riscv_vfmv_v_f_f32m2(x, 2 * EC_VL); break;
    case 4: found.m4 = __riscv_vfmv_v_f_f32m4(x, 4 * EC_VL); break;
    default: found.m8 = __riscv_vfmv_v_f_f32m8(x, 8 * EC_VL);
    }
    return found;
}
EC_INLINE ec_group ec_group_join(const ec_vec *v, int group)
{
    ec_group found;
    switch (group) {
    case 1: found.m1 = v[0]; break;
    case 2: found.m2 = ec_join_m2(v); break;
    case 4: found.m4 = ec_join_m4(v); break;
    default: found.m8 = ec_join_m8(v);
    }
    return found;
}
