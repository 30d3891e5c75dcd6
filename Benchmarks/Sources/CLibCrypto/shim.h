#pragma once
#include <openssl/evp.h>
#include <openssl/rand.h>

// AES-256-GCM with a context that is kept. For each message, only the nonce is set. A message is a nonce of 12 bytes,
// the ciphertext, and a tag of 16 bytes.

enum { bench_cipher_overhead = 28 };

// Returns a context for a key of 32 bytes, or NULL.
static inline EVP_CIPHER_CTX *bench_cipher(const unsigned char *key, int seals) {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (context && EVP_CipherInit_ex(context, EVP_aes_256_gcm(), NULL, key, NULL, seals) == 1) return context;
    EVP_CIPHER_CTX_free(context);
    return NULL;
}

static inline void bench_cipher_free(EVP_CIPHER_CTX *context) { EVP_CIPHER_CTX_free(context); }

// Seals a content under a random nonce. `message` has 28 bytes more than the content. Returns whether it succeeded.
static inline int bench_cipher_seal(EVP_CIPHER_CTX *context, const unsigned char *content, int length, unsigned char *message) {
    int written = 0, rest = 0;
    return RAND_bytes(message, 12) == 1 && EVP_EncryptInit_ex(context, NULL, NULL, NULL, message) == 1
        && EVP_EncryptUpdate(context, message + 12, &written, content, length) == 1
        && EVP_EncryptFinal_ex(context, message + 12 + written, &rest) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, message + 12 + length) == 1;
}

// Opens a message. `content` has at least as many bytes. Returns the length of the content, or -1.
static inline int bench_cipher_open(EVP_CIPHER_CTX *context, const unsigned char *message, int length, unsigned char *content) {
    int written = 0, rest = 0, count = length - bench_cipher_overhead;
    if (count < 0) return -1;
    int opened = EVP_DecryptInit_ex(context, NULL, NULL, NULL, message) == 1
        && EVP_DecryptUpdate(context, content, &written, message + 12, count) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, (void *)(message + 12 + count)) == 1
        && EVP_DecryptFinal_ex(context, content + written, &rest) == 1;
    return opened ? count : -1;
}
