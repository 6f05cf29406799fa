// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#ifndef STORE_H
#define STORE_H
int store_value(int key);
int backend_read(int key);
int net_send(int value);
int plugin_value(void);
void log_line(const char *text);
#endif
