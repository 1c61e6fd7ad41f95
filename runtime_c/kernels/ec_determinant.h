/* Determinants by Gaussian elimination with row pivots. */
#ifndef EC_DETERMINANT_H
#define EC_DETERMINANT_H

/* in[count][n][n] -> out[count]; `work` has n x n doubles. */
EC_INLINE void ec_determinants(const float *in, int count, int n, double *work, float *out)
{
    for (int m = 0; m < count; m++, in += n * n) {
        double product = 1.0;
        for (int i = 0; i < n * n; i++)
            work[i] = (double)in[i];
        for (int k = 0; k < n; k++) {
            int best = k;
            for (int i = k + 1; i < n; i++) {
                const double here = work[i * n + k], there = work[best * n + k];
                best = (here < 0.0 ? -here : here) > (there < 0.0 ? -there : there) ? i : best;
            }
            product *= best == k ? work[k * n + k] : -work[best * n + k];
            if (work[best * n + k] == 0.0)
                break;
            for (int j = k; j < n; j++) {
                const double swapped = work[k * n + j];
                work[k * n + j] = work[best * n + j];
                work[best * n + j] = swapped;
            }
            for (int i = k + 1; i < n; i++)
                for (int j = n - 1; j >= k; j--)
                    work[i * n + j] -= work[i * n + k] / work[k * n + k] * work[k * n + j];
        }
        out[m] = (float)product;
    }
}

#endif
