/* Probabilities of classes from those of their pairs. */
#ifndef EC_COUPLING_H
#define EC_COUPLING_H

#define EC_COUPLING_ROUNDS 100
#define EC_COUPLING_CLOSE 0.005f /* of a residual, divided by the number of classes */

/* Q of one row of pairs i < j, in[] being the probability of i: the p that sums to 1 and makes
 * p'Qp least is wanted. */
EC_INLINE void ec_coupling_matrix(const float *in, int classes, float *matrix)
{
    for (int i = 0; i < classes; i++)
        matrix[i * classes + i] = 0.0f;
    for (int i = 0; i < classes; i++)
        for (int j = i + 1; j < classes; j++, in++) {
            const float first = *in, second = 1.0f - first;
            matrix[i * classes + i] += second * second;
            matrix[j * classes + j] += first * first;
            matrix[i * classes + j] = matrix[j * classes + i] = -(first * second);
        }
}

/* products = Qp; returns p'Qp. */
EC_INLINE float ec_coupling_products(const float *matrix, const float *p, int classes,
                                     float *products)
{
    float total = 0.0f;
    for (int i = 0; i < classes; i++) {
        products[i] = 0.0f;
        for (int j = 0; j < classes; j++)
            products[i] += matrix[i * classes + j] * p[j];
        total += p[i] * products[i];
    }
    return total;
}

EC_INLINE int ec_coupling_is_close(const float *products, float total, int classes)
{
    float worst = 0.0f;
    for (int i = 0; i < classes; i++) {
        const float residual = products[i] < total ? total - products[i] : products[i] - total;
        worst = residual > worst ? residual : worst;
    }
    return worst < EC_COUPLING_CLOSE / (float)classes;
}

/* in[rows][classes (classes - 1) / 2] -> out[rows][classes]; `work` has (classes + 1) x classes
 * floats.  Each round moves one p after the other so that its residual vanishes, and divides all
 * by their sum, until all residuals are small. */
EC_INLINE void ec_couple(const float *in, int rows, int classes, float *work, float *out)
{
    float *const matrix = work, *const products = work + classes * classes;
    for (int row = 0; row < rows; row++, out += classes, in += classes * (classes - 1) / 2) {
        ec_coupling_matrix(in, classes, matrix);
        for (int i = 0; i < classes; i++)
            out[i] = 1.0f / (float)classes;
        for (int round = 0; round < EC_COUPLING_ROUNDS; round++) {
            float total = ec_coupling_products(matrix, out, classes, products);
            if (ec_coupling_is_close(products, total, classes))
                break;
            for (int i = 0; i < classes; i++) {
                const float own = matrix[i * classes + i];
                const float move = (total - products[i]) / own, sum = 1.0f + move;
                total = (total + move * (move * own + 2.0f * products[i])) / sum / sum;
                out[i] += move;
                for (int j = 0; j < classes; j++) {
                    products[j] = (products[j] + move * matrix[i * classes + j]) / sum;
                    out[j] /= sum;
                }
            }
        }
    }
}

#endif
