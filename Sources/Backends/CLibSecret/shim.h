#pragma once
#include <gio/gio.h>

// Declarations of the libsecret functions that LocalData uses. The header of libsecret itself is not included:
// pkg-config gives its path only for the module of libsecret. That module requires the module of GIO, which adds the
// flag -pthread. SwiftPM would then print a warning about this flag in every build. Package.swift therefore uses the
// module of GObject, which gives only the paths of GLib's headers. Scripts/check compares these declarations with the
// header of libsecret.
#ifndef __SECRET_SERVICE_H__
typedef struct _SecretValue SecretValue;
typedef struct _SecretServicePrivate SecretServicePrivate;
typedef struct _SecretService {
    GDBusProxy parent;
    SecretServicePrivate *pv;
} SecretService;
#endif

GType secret_service_get_type(void);
gboolean secret_service_ensure_session_sync(SecretService *self, GCancellable *cancellable, GError **error);
const gchar *secret_service_get_session_algorithms(SecretService *self);
SecretValue *secret_value_new(const gchar *secret, gssize length, const gchar *content_type);
const gchar *secret_value_get(SecretValue *value, gsize *length);
void secret_value_unref(gpointer value);

// Two functions of GIO, declared for localdata_call_with_descriptor (below).
GUnixFDList *g_unix_fd_list_new(void);
gint g_unix_fd_list_append(GUnixFDList *list, gint fd, GError **error);

// libsecret's API for D-Bus object paths. Only this part of libsecret encodes and decodes secrets without searching,
// unlocking or prompting.
const gchar *secret_service_get_session_dbus_path(SecretService *self);
GVariant *secret_service_encode_dbus_secret(SecretService *service, SecretValue *value);
SecretValue *secret_service_decode_dbus_secret(SecretService *service, GVariant *value);

// The functions below create a SecretService object that uses a separate connection to the bus. The constructor of
// libsecret sets a bus type, and GIO then uses the connection that the whole process shares. A subclass therefore
// clears the bus type after that constructor, so that GIO uses the connection that it is given. The subclass is written
// in C, because Swift does not import GObject classes and variadic functions.
// Reason: "The store has a private connection to the bus" in Docs/Decisions/Keyring.md.

static inline GObject *localdata_service_construct(GType type, guint count, GObjectConstructParam *parameters) {
    GObjectClass *parent = (GObjectClass *)g_type_class_peek(secret_service_get_type());
    GObject *object = parent->constructor(type, count, parameters);
    g_object_set(
        object, "g-bus-type", G_BUS_TYPE_NONE, "g-flags",
        G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES | G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS, NULL);
    return object;
}

static inline void localdata_service_class_init(gpointer klass, gpointer data) {
    (void)data;
    ((GObjectClass *)klass)->constructor = localdata_service_construct;
}

// Returns the type of the subclass. The first call registers the type, and must not overlap with another call.
static inline GType localdata_secret_service_type(void) {
    GTypeQuery parent;
    GType type = g_type_from_name("LocalDataSecretService");
    if (type != 0) return type;
    g_type_query(secret_service_get_type(), &parent);
    return g_type_register_static_simple(
        secret_service_get_type(), "LocalDataSecretService", parent.class_size, localdata_service_class_init, parent.instance_size, NULL,
        (GTypeFlags)0);
}

// Creates an object of the subclass without contacting the daemon.
static inline SecretService *localdata_secret_service_new(
    GType type, GDBusConnection *connection, GCancellable *cancellable, GError **error) {
    return (SecretService *)g_initable_new(type, cancellable, error, "g-connection", connection, NULL);
}

// Calls a D-Bus method and passes one file descriptor, to which the arguments refer as handle 0. Returns the reply.
// The function is written in C, because older releases of GLib have the header of GUnixFDList in a separate folder.
static inline GVariant *localdata_call_with_descriptor(
    GDBusConnection *connection, const gchar *destination, const gchar *path, const gchar *interface, const gchar *method,
    GVariant *arguments, const GVariantType *reply, gint timeout, gint descriptor, GCancellable *cancellable, GError **error) {
    GVariant *answer = NULL;
    GUnixFDList *descriptors = g_unix_fd_list_new();
    g_variant_ref_sink(arguments);
    if (g_unix_fd_list_append(descriptors, descriptor, error) == 0)
        answer = g_dbus_connection_call_with_unix_fd_list_sync(
            connection, destination, path, interface, method, arguments, reply, G_DBUS_CALL_FLAGS_NONE, timeout, descriptors, NULL,
            cancellable, error);
    g_variant_unref(arguments);
    g_object_unref(descriptors);
    return answer;
}
