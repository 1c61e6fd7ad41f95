/* Images from channels last to channel planes, some rows at a time and by patches of columns, of rings of rows: each element
   where the whole conversion puts it.  Writes how many differ and how many were compared. */
#include "ec_common.h"
#include "ec_isa_portable.h"
#include "ec_lanes.h"
#include "ec_copy.h"
#include "ec_transpose.h"
#include "ec_convert.h"
#include "ec_window.h"
#include "ec_columns.h"
#include "ec_convert_columns.h"

#include <stdio.h>

enum { HEIGHT = 7, MOST = 13 };

static long different, compared;

static void image(int channels, int width)
{
    static float last[HEIGHT * MOST * MOST], wanted[HEIGHT * MOST * MOST], planes[HEIGHT * MOST * MOST], ring[2 * MOST * MOST];
    const int row = width * channels, count = HEIGHT * row, cut = width / 2;
    for (int i = 0; i < count; i++)
        last[i] = (float)i;
    ec_nhwc_to_nchw(last, wanted, 1, channels, HEIGHT * width, EC_F32);
    for (int patches = 0; patches < 2; patches++) {
        for (int i = 0; i < count; i++)
            planes[i] = -1.0f;
        for (int y = 0; y < HEIGHT; y++) { /* memory holds two rows of the input */
            memcpy(ring + y % 2 * row, last + y * row, (size_t)row * sizeof *ring);
            if (!patches) {
                ec_nhwc_to_nchw_rows(ring, planes, channels, width, 2, HEIGHT, EC_F32, y, y + 1);
                continue;
            }
            for (int from = 0; from < width; from += cut ? cut : 1) {
                const int some = ec_min_i(cut ? cut : 1, width - from);
                const ec_columns columns = {.in_x = (int16_t)from, .in_w = (int16_t)some, .out_x = (int16_t)from,
                                            .out_w = (int16_t)some};
                ec_nhwc_to_nchw_columns(ring, planes, channels, width, width, 2, HEIGHT, EC_F32, y, y + 1, &columns);
            }
        }
        for (int i = 0; i < count; i++)
            different += planes[i] != wanted[i];
        compared += count;
    }
}

int main(void)
{
    for (int channels = 1; channels <= MOST; channels += 3)
        for (int width = 1; width <= MOST; width += 4)
            image(channels, width);
    printf("%ld %ld\n", different, compared);
    return different != 0;
}
