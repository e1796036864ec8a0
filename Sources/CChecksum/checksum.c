#include "checksum.h"

#include <string.h>

// SSE 4.2 has the instruction on x86-64 (Intel 64 and IA-32 manual, CRC32), the CRC extension on 64-bit ARM (Arm A-profile
// manual, CRC32CX).
#if defined(__x86_64__)
#define WITH_INSTRUCTION __attribute__((target("sse4.2")))
#define STEP8(crc, word) ((uint32_t)__builtin_ia32_crc32di(crc, word))
#define STEP1(crc, byte) __builtin_ia32_crc32qi(crc, byte)

bool checksum_has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }

#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#define WITH_INSTRUCTION
#define STEP8(crc, word) __builtin_arm_crc32cd(crc, word)
#define STEP1(crc, byte) __builtin_arm_crc32cb(crc, byte)

bool checksum_has_instruction(void) { return true; }

#endif

#ifdef STEP8

WITH_INSTRUCTION uint32_t checksum_crc32c(uint32_t crc, const uint8_t *bytes, size_t count) {
  for (; count >= 8; count -= 8, bytes += 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    crc = STEP8(crc, word);
  }
  for (; count > 0; count--, bytes++) crc = STEP1(crc, *bytes);
  return crc;
}

#else

bool checksum_has_instruction(void) { return false; }

uint32_t checksum_crc32c(uint32_t crc, const uint8_t *bytes, size_t count) {
  (void)bytes, (void)count;
  return crc;
}

#endif
