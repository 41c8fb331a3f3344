package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/tetratelabs/wazero"
)

// TestVectors answers the requests of a file, each after its length. `cargo xtask test wasm` compares the answers.
func TestVectors(t *testing.T) {
	folder := os.Getenv("ROSTER_VECTORS")
	if folder == "" {
		t.Skip("cargo xtask test wasm sets ROSTER_VECTORS")
	}
	ctx := context.Background()
	engine := Engine{must(wazero.NewRuntime(ctx).Instantiate(ctx, must(os.ReadFile(os.Getenv("ROSTER_MODULE")))))}
	requests := must(os.ReadFile(folder + "/requests"))
	var answers []byte
	runtime.LockOSThread()
	began := busy(t)
	for len(requests) > 0 {
		end := 4 + binary.LittleEndian.Uint32(requests)
		answer := must(engine.Exchange(ctx, requests[4:end]))
		answers = append(binary.LittleEndian.AppendUint32(answers, uint32(len(answer))), answer...)
		requests = requests[end:]
	}
	t.Logf("seconds %f", busy(t)-began)
	must(0, os.WriteFile(folder+"/go", answers, 0o644))
}

// The seconds that this thread has computed: other work on the machine does not count.
func busy(t *testing.T) (seconds float64) {
	if _, err := fmt.Sscan(string(must(os.ReadFile("/proc/thread-self/schedstat"))), &seconds); err != nil {
		t.Fatal(err)
	}
	return seconds / 1e9
}
