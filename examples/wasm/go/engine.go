package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// Engine answers calls, one at a time. See docs/tasks/embed.md.
type Engine struct{ module api.Module }

// Exchange sends a request and returns the answer. Both are a line of JSON, and then a body.
func (e Engine) Exchange(ctx context.Context, request []byte) ([]byte, error) {
	address, err := e.module.ExportedFunction("roster_allocate").Call(ctx, uint64(len(request)))
	if err != nil || address[0] == 0 || !e.module.Memory().Write(uint32(address[0]), request) {
		return nil, fmt.Errorf("no room for the request: %w", err)
	}
	answer, err := e.module.ExportedFunction("roster_call").Call(ctx)
	if err != nil {
		return nil, err
	}
	text, _ := e.module.Memory().Read(uint32(answer[0]>>32), uint32(answer[0]))
	return bytes.Clone(text), nil // the memory is the module's
}

// Ask sends objects in YAML, and returns the body of the answer.
func (e Engine) Ask(ctx context.Context, call, query string, objects []byte) ([]byte, error) {
	line, _ := json.Marshal(map[string]string{"call": call, "query": query, "contentType": "application/yaml"})
	answer, err := e.Exchange(ctx, bytes.Join([][]byte{line, objects}, []byte("\n")))
	head, body, _ := bytes.Cut(answer, []byte("\n"))
	if err == nil && !bytes.HasPrefix(head, []byte(`{"status":200,`)) {
		err = fmt.Errorf("%s", body)
	}
	return body, err
}
