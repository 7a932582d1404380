/* Marks the functions that a library of this project exports; everything else in it is hidden. */
#ifndef SUBSTRATA_EXPORT_H
#define SUBSTRATA_EXPORT_H

#define SUBSTRATA_API __attribute__((visibility("default")))

#endif
