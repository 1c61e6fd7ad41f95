/* Results as int8 where an ISA has no shorter way: one lane after the other.  Meaning: see
   ec_int8_avx512.h. */
EC_INLINE void ec_s8_store(int8_t *p, ec_vec x, int zero, int least, int most, int n)
{
    float whole[EC_VL];
    ec_store(whole, ec_round(x));
    for (int i = 0; i < n; i++)
        p[i] = (int8_t)ec_min_i(ec_max_i((int)whole[i] + zero, least), most);
}
