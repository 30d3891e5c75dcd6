#pragma once
#include <glib-unix.h>
#include <gtk/gtk.h>
#include <stdio.h>

// Two functions of libdispatch for a program whose main thread runs another event loop. CoreFoundation's run loop uses
// them. libdispatch exports them, but has no header with them.

// Returns an eventfd, which is readable while the main queue has jobs.
int _dispatch_get_main_queue_handle_4CF(void);

// Runs the jobs of the main queue. Call it on the main thread only.
void _dispatch_main_queue_callback_4CF(void *message);

// Lets standard output write each line at once, also into a pipe. Swift cannot use the macro `stdout`.
static inline void notes_write_lines_at_once(void) { setvbuf(stdout, NULL, _IOLBF, 0); }
