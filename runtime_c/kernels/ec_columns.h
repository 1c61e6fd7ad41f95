/* Columns of a layer's result that are computed apart from the others, for layers that stream rows in patches.
   Needs ec_window.h. */
#ifndef EC_COLUMNS_H
#define EC_COLUMNS_H

/* out_w columns of the result, those from out_x on of what memory holds of a row, which is a row of the patch or of
   the image; windows read in_w columns of the input, those from in_x on.  The first window begins pad_w columns in
   front of these. */
typedef struct ec_columns {
    int16_t in_x, in_w, out_x, out_w, pad_w;
} ec_columns;

/* The window of an image, for these columns of it. */
EC_INLINE ec_window ec_window_of_columns(ec_window window, const ec_columns *columns)
{
    window.in_w = columns->in_w, window.out_w = columns->out_w, window.pad_w = columns->pad_w;
    return window;
}

#endif
