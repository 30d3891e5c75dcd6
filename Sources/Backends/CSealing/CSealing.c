#include "CSealing.h"

#if __has_include(<CCryptoBoringSSL_aead.h>) && __has_include(<CCryptoBoringSSL_sha.h>)

#include <CCryptoBoringSSL_aead.h>
#include <CCryptoBoringSSL_aes.h>
#include <CCryptoBoringSSL_err.h>
#include <CCryptoBoringSSL_mem.h>
#include <CCryptoBoringSSL_sha.h>
#include <stdint.h>
#include <stdlib.h>

enum { KEY_LENGTH = 32, NONCE_LENGTH = 12, TAG_LENGTH = 16 };

bool sealing_is_available(void) { return true; }

struct sealing_aes { AES_KEY key; };

sealing_aes *sealing_aes_make(const void *key) {
    sealing_aes *aes = malloc(sizeof *aes);
    if (aes) AES_set_encrypt_key(key, KEY_LENGTH * 8, &aes->key);
    return aes;
}

void sealing_aes_free(sealing_aes *aes) {
    OPENSSL_cleanse(aes, sizeof *aes);
    free(aes);
}

void sealing_aes_encrypt(const sealing_aes *aes, void *block) { AES_encrypt(block, block, &aes->key); }

// Begins a use of a context. The thread's list of errors belongs to the whole program, so later errors are taken from it again.
static bool begin(EVP_AEAD_CTX *context, const void *key) {
    ERR_set_mark();
    return EVP_AEAD_CTX_init(context, EVP_aead_aes_256_gcm(), key, KEY_LENGTH, TAG_LENGTH, NULL);
}

// Ends the use of a context, and overwrites the prepared key in it.
static void end(EVP_AEAD_CTX *context) {
    EVP_AEAD_CTX_cleanup(context);
    OPENSSL_cleanse(context, sizeof *context);
    ERR_pop_to_mark();
}

bool sealing_gcm_seal(
    const void *key, const void *nonce, const void *content, size_t length, const void *data, size_t data_length, void *out) {
    EVP_AEAD_CTX context;
    size_t written = 0;
    bool is_sealed = begin(&context, key)
        && EVP_AEAD_CTX_seal(&context, out, &written, length + TAG_LENGTH, nonce, NONCE_LENGTH, content, length, data, data_length);
    end(&context);
    return is_sealed && written == length + TAG_LENGTH;
}

bool sealing_gcm_open(
    const void *key, const void *nonce, const void *sealed, size_t length, const void *data, size_t data_length, void *out) {
    if (length < TAG_LENGTH) return false;
    EVP_AEAD_CTX context;
    size_t written = 0;
    bool is_open = begin(&context, key)
        && EVP_AEAD_CTX_open(&context, out, &written, length - TAG_LENGTH, nonce, NONCE_LENGTH, sealed, length, data, data_length);
    end(&context);
    return is_open && written == length - TAG_LENGTH;
}

// The states of SHA-256 after the key's inner and outer block.
struct sealing_hmac { SHA256_CTX inner, outer; };

static void start(SHA256_CTX *state, const uint8_t *key, size_t length, uint8_t pad) {
    uint8_t block[SHA256_CBLOCK];
    for (size_t place = 0; place < sizeof block; place++) block[place] = pad;
    for (size_t place = 0; place < length; place++) block[place] ^= key[place];
    SHA256_Init(state);
    SHA256_Update(state, block, sizeof block);
    OPENSSL_cleanse(block, sizeof block);
}

sealing_hmac *sealing_hmac_make(const void *key, size_t length) {
    if (length > SHA256_CBLOCK) return NULL;
    sealing_hmac *hmac = malloc(sizeof *hmac);
    if (!hmac) return NULL;
    start(&hmac->inner, key, length, 0x36);
    start(&hmac->outer, key, length, 0x5C);
    return hmac;
}

void sealing_hmac_free(sealing_hmac *hmac) {
    OPENSSL_cleanse(hmac, sizeof *hmac);
    free(hmac);
}

void sealing_hmac_compute(const sealing_hmac *hmac, const void *bytes, size_t length, void *code) {
    SHA256_CTX state = hmac->inner;
    SHA256_Update(&state, bytes, length);
    SHA256_Final(code, &state);
    state = hmac->outer;
    SHA256_Update(&state, code, SHA256_DIGEST_LENGTH);
    SHA256_Final(code, &state);
    OPENSSL_cleanse(&state, sizeof state);
}

#else

bool sealing_is_available(void) { return false; }
sealing_aes *sealing_aes_make(const void *key) { return NULL; }
void sealing_aes_free(sealing_aes *aes) {}
void sealing_aes_encrypt(const sealing_aes *aes, void *block) {}
bool sealing_gcm_seal(
    const void *key, const void *nonce, const void *content, size_t length, const void *data, size_t data_length, void *out) {
    return false;
}
bool sealing_gcm_open(
    const void *key, const void *nonce, const void *sealed, size_t length, const void *data, size_t data_length, void *out) {
    return false;
}
sealing_hmac *sealing_hmac_make(const void *key, size_t length) { return NULL; }
void sealing_hmac_free(sealing_hmac *hmac) {}
void sealing_hmac_compute(const sealing_hmac *hmac, const void *bytes, size_t length, void *code) {}

#endif
