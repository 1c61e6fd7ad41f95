/* Layers of this program that multiply packed int8 have few channels, so that whole windows are packed: see
   ec_pack_windows.h. */
#ifndef EC_PACKED_WINDOWS_H
#define EC_PACKED_WINDOWS_H

#define EC_PACKED_WINDOWS 1

#endif
