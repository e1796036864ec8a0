#ifndef TRIBUTARY_CHECKSUM_H
#define TRIBUTARY_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether this processor has an instruction for CRC-32C.
bool checksum_has_instruction(void);

/// Updates a CRC-32C with more bytes, using the processor's instruction; the processor must have it. The inversions at the
/// start and the end are the caller's.
uint32_t checksum_crc32c(uint32_t crc, const uint8_t *bytes, size_t count);

#endif
