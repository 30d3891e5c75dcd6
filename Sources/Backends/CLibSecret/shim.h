#pragma once
#include <gio/gio.h>

// The functions of libsecret that are used, declared here. To find libsecret's own header, its .pc file would have to be read; through GIO's private requirements that
// leads to one with -pthread, which SwiftPM does not allow and warns of in every build. GObject's .pc file finds GLib's headers and no more.
// Scripts/check compares these declarations with libsecret's.
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

// GLib's, declared for the call at the end.
GUnixFDList *g_unix_fd_list_new(void);
gint g_unix_fd_list_append(GUnixFDList *list, gint fd, GError **error);

// The paths API: the only part of libsecret that opens a session and codes secrets without searching, unlocking or prompting by itself.
const gchar *secret_service_get_session_dbus_path(SecretService *self);
GVariant *secret_service_encode_dbus_secret(SecretService *service, SecretValue *value);
SecretValue *secret_service_decode_dbus_secret(SecretService *service, GVariant *value);

// A SecretService on a connection of our own. libsecret's constructor always asks for the session bus that GIO shares within a process,
// which can never be replaced once it died; a subclass takes that back while the object is still being constructed. Written in C because
// GObject classes and variadic functions are not imported into Swift.

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

// The type of such objects. The first call must be over before another begins.
static inline GType localdata_secret_service_type(void) {
    GTypeQuery parent;
    GType type = g_type_from_name("LocalDataSecretService");
    if (type != 0) return type;
    g_type_query(secret_service_get_type(), &parent);
    return g_type_register_static_simple(
        secret_service_get_type(), "LocalDataSecretService", parent.class_size, localdata_service_class_init, parent.instance_size, NULL,
        (GTypeFlags)0);
}

// Makes a service object of that type, without talking to the daemon.
static inline SecretService *localdata_secret_service_new(
    GType type, GDBusConnection *connection, GCancellable *cancellable, GError **error) {
    return (SecretService *)g_initable_new(type, cancellable, error, "g-connection", connection, NULL);
}

// Calls a method with one argument that is a descriptor: the handle 0 in the arguments. Returns its reply. Written in C because the header of GUnixFDList is in a folder of
// its own in older releases of GLib.
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
