#ifndef TRIBUTARY_CHECKSUM_H
#define TRIBUTARY_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether this processor has an instruction for CRC-32C.
bool checksum_has_instruction(void);

/// Takes bytes into a CRC-32C (without the inversions before and after) by the processor's instruction, which it must have.
uint32_t checksum_crc32c(uint32_t crc, const uint8_t *bytes, size_t count);

#endif
