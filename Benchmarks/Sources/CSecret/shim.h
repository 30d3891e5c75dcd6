#pragma once
#include <gio/gio.h>

// The functions of libsecret that a small program uses. They are declared here, because the options that find
// libsecret's header would add -pthread to the build. `BenchSchema` has the layout of `SecretSchema` in
// secret-schema.h.
typedef struct {
    const gchar *name;
    int flags;
    struct { const gchar *name; int type; } attributes[32];
    gint reserved;
    gpointer reserved1, reserved2, reserved3, reserved4, reserved5, reserved6, reserved7;
} BenchSchema;

gchar *secret_password_lookup_sync(const BenchSchema *schema, GCancellable *cancellable, GError **error, ...);
gboolean secret_password_store_sync(
    const BenchSchema *schema, const gchar *collection, const gchar *label, const gchar *password, GCancellable *cancellable,
    GError **error, ...);
void secret_password_free(gchar *password);

static const BenchSchema bench_schema = {"org.example.bench", 0, {{"service", 0}, {"account", 0}, {0, 0}}, 0, 0, 0, 0, 0, 0, 0, 0};

// Swift does not import variadic C functions, such as those of libsecret. The functions below wrap them for Swift.

// Looks up a password with one call, like a small program in C. Returns 1 if it exists, 0 if not, and -1 after an
// error.
static inline int bench_secret_lookup(const char *service, const char *account) {
    GError *error = NULL;
    gchar *password = secret_password_lookup_sync(&bench_schema, NULL, &error, "service", service, "account", account, NULL);
    if (error) { g_error_free(error); return -1; }
    if (!password) return 0;
    secret_password_free(password);
    return 1;
}

// Stores a password in the default collection. Returns whether it succeeded.
static inline int bench_secret_store(const char *service, const char *account, const char *password) {
    return secret_password_store_sync(
        &bench_schema, NULL, account, password, NULL, NULL, "service", service, "account", account, NULL);
}
