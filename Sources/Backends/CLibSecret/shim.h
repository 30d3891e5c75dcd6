#pragma once
// The paths API: the only part of libsecret that opens a session and codes secrets without searching, unlocking or prompting by itself.
#define SECRET_API_SUBJECT_TO_CHANGE
#include <libsecret/secret.h>

// A SecretService on a given connection, without talking to the daemon yet. (g_initable_new is variadic, which Swift does not import.)
static inline SecretService *localdata_secret_service_new(GDBusConnection *connection, GCancellable *cancellable, GError **error) {
    return (SecretService *)g_initable_new(
        SECRET_TYPE_SERVICE, cancellable, error, "g-connection", connection, "g-name", "org.freedesktop.secrets", "g-object-path",
        "/org/freedesktop/secrets", "g-interface-name", "org.freedesktop.Secret.Service", "g-flags",
        G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES | G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS, "flags", SECRET_SERVICE_NONE, NULL);
}
