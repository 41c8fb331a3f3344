//go:build ordered

package main

// ordered says whether this program is built from rewritten controllers.
const ordered = true
