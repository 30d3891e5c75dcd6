// AES-256, AES-256-GCM and HMAC-SHA256 with prepared keys, by the functions of BoringSSL that swift-crypto links.
//
// swift-crypto's own interface copies a key for each message and prepares it again. It has no public module with
// BoringSSL's headers, so a build can hide them. `sealing_is_available` is then false, and no other function may be
// called.
//
// Pointers may be null only where the length is 0.
#ifndef LOCALDATA_CSEALING_H
#define LOCALDATA_CSEALING_H

#include <stdbool.h>
#include <stddef.h>

// Returns whether the functions below exist.
bool sealing_is_available(void);

// A prepared key of AES-256, and one of HMAC-SHA256.
typedef struct sealing_aes sealing_aes;
typedef struct sealing_hmac sealing_hmac;

// Prepares a key. Returns null if there is no memory. The second function overwrites the prepared key and frees it.
sealing_aes *_Nullable sealing_aes_make(const void *_Nullable key);
void sealing_aes_free(sealing_aes *_Nonnull aes);

// Encrypts one block of 16 bytes. The result replaces the block.
void sealing_aes_encrypt(const sealing_aes *_Nonnull aes, void *_Nullable block);

// Seals with AES-256-GCM: writes the ciphertext and the tag, 16 bytes more than the content, to `out`.
// The key has 32 bytes, the nonce 12. Returns false if the content is too long.
bool sealing_gcm_seal(
    const void *_Nullable key, const void *_Nullable nonce, const void *_Nullable content, size_t length,
    const void *_Nullable data, size_t data_length, void *_Nullable out);

// Opens the result of `sealing_gcm_seal`. The length includes the tag, so it is at least 16; `out` has 16 bytes less.
// Returns false if the bytes are not authentic. The content of `out` is then unspecified.
bool sealing_gcm_open(
    const void *_Nullable key, const void *_Nullable nonce, const void *_Nullable sealed, size_t length,
    const void *_Nullable data, size_t data_length, void *_Nullable out);

// Prepares a key of at most 64 bytes. Returns null if there is no memory or the key is longer.
sealing_hmac *_Nullable sealing_hmac_make(const void *_Nullable key, size_t length);
void sealing_hmac_free(sealing_hmac *_Nonnull hmac);

// Computes HMAC-SHA256 (RFC 2104) and writes 32 bytes to `code`.
void sealing_hmac_compute(const sealing_hmac *_Nonnull hmac, const void *_Nullable bytes, size_t length, void *_Nullable code);

#endif
