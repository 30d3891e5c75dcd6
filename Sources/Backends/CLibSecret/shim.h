#pragma once
// The paths API: the only part of libsecret that opens a session and codes secrets without searching, unlocking or prompting by itself.
#define SECRET_API_SUBJECT_TO_CHANGE
#include <libsecret/secret.h>

// A SecretService on a connection of our own. libsecret's constructor always asks for the session bus that GIO shares within a process, which
// can never be replaced once it died; a subclass takes that back while the object is still being constructed. Written in C because GObject
// classes and variadic functions are not imported into Swift.

static inline GObject *localdata_service_construct(GType type, guint count, GObjectConstructParam *parameters) {
    GObjectClass *parent = (GObjectClass *)g_type_class_peek(SECRET_TYPE_SERVICE);
    GObject *object = parent->constructor(type, count, parameters);
    g_object_set(
        object, "g-bus-type", G_BUS_TYPE_NONE, "g-flags", G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES | G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS,
        NULL);
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
    g_type_query(SECRET_TYPE_SERVICE, &parent);
    return g_type_register_static_simple(
        SECRET_TYPE_SERVICE, "LocalDataSecretService", parent.class_size, localdata_service_class_init, parent.instance_size, NULL, (GTypeFlags)0);
}

// Makes a service object of that type, without talking to the daemon.
static inline SecretService *localdata_secret_service_new(
    GType type, GDBusConnection *connection, GCancellable *cancellable, GError **error) {
    return (SecretService *)g_initable_new(type, cancellable, error, "g-connection", connection, NULL);
}
