package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"go/version"
	"slices"
	"strings"
)

const setsPackage = "k8s.io/apimachinery/pkg/util/sets"

// rewriter changes one file. It edits the text and leaves line numbers as they are.
type rewriter struct {
	set     *token.FileSet
	info    *types.Info
	text    []byte
	version string // of the language, as the module's go.mod has it
	edits   []edit
	counts  tally
	errors  []string
}

// edit replaces a part of the text.
type edit struct {
	from, to int
	text     string
}

// tally counts what was rewritten.
type tally struct{ loops, sets, sorts, names int }

func (t *tally) add(o tally) {
	t.loops, t.sets, t.sorts, t.names = t.loops+o.loops, t.sets+o.sets, t.sorts+o.sorts, t.names+o.names
}

func (t tally) String() string {
	return fmt.Sprintf("%d loops, %d sets, %d sorts, %d names", t.loops, t.sets, t.sorts, t.names)
}

// file has the new text; nil if nothing changes.
func (r *rewriter) file(file *ast.File) ([]byte, error) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			r.loop(n)
		case *ast.CallExpr:
			r.call(n)
		}
		return true
	})
	if len(r.errors) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(r.errors, "\n"))
	}
	if len(r.edits) == 0 {
		return nil, nil
	}
	if r.counts.loops+r.counts.sets+r.counts.names > 0 {
		at := r.offset(file.Name.End())
		r.edits = append(r.edits, edit{at, at, `; import order "oracle/order"`})
	}
	return append(r.header(file), r.apply()...), nil
}

// header lets an old file use type parameters. From 1.22 on, loops would mean something else.
func (r *rewriter) header(file *ast.File) []byte {
	if version.Compare("go"+r.version, "go1.18") >= 0 {
		return nil
	}
	return []byte("//go:build go1.21\n\n//line " + r.set.Position(file.Package).Filename + ":1\n")
}

func (r *rewriter) apply() []byte {
	slices.SortStableFunc(r.edits, func(a, b edit) int { return a.from - b.from })
	var out bytes.Buffer
	at := 0
	for _, e := range r.edits {
		out.Write(r.text[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(r.text[at:])
	return out.Bytes()
}

func (r *rewriter) offset(p token.Pos) int { return r.set.Position(p).Offset }

func (r *rewriter) source(n ast.Node) string {
	return string(r.text[r.offset(n.Pos()):r.offset(n.End())])
}

func (r *rewriter) fail(n ast.Node, format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf("%s: %s", r.set.Position(n.Pos()), fmt.Sprintf(format, args...)))
}

func isMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// loop turns "for k, v := range m {" into "for order1 := order.Over(m); order1.Next(); { k, v := order1.Key, order1.Value;".
func (r *rewriter) loop(n *ast.RangeStmt) {
	if !isMap(r.info.TypeOf(n.X)) || n.Key == nil {
		return
	}
	r.counts.loops++
	r.perLoop(n)
	walk := fmt.Sprintf("order%d", r.counts.loops)
	var names, values []string
	for _, part := range []struct {
		to   ast.Expr
		from string
	}{{n.Key, "Key"}, {n.Value, "Value"}} {
		if name, ok := part.to.(*ast.Ident); part.to != nil && !(ok && name.Name == "_") {
			names, values = append(names, r.source(part.to)), append(values, walk+"."+part.from)
		}
	}
	body := ""
	if len(names) > 0 {
		body = fmt.Sprintf(" %s %s %s;", strings.Join(names, ", "), n.Tok, strings.Join(values, ", "))
	}
	head := r.offset(n.For) + len("for")
	// What is ranged over may hold something to rewrite itself: it stays where it is.
	r.edits = append(r.edits,
		edit{head, r.offset(n.X.Pos()), fmt.Sprintf(" %s := order.Over(", walk)},
		edit{r.offset(n.X.End()), r.offset(n.Body.Lbrace) + 1, fmt.Sprintf("); %s.Next(); {%s", walk, body)},
	)
}

// perLoop refuses a loop that would notice that its variables are new in every turn, where the language has one for
// all turns.
func (r *rewriter) perLoop(n *ast.RangeStmt) {
	if version.Compare("go"+r.version, "go1.22") >= 0 || n.Tok != token.DEFINE {
		return
	}
	own := map[types.Object]bool{}
	for _, e := range []ast.Expr{n.Key, n.Value} {
		if name, ok := e.(*ast.Ident); ok {
			own[r.info.Defs[name]] = true
		}
	}
	uses := func(n ast.Node) (found bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			name, ok := n.(*ast.Ident)
			found = found || ok && own[r.info.Uses[name]]
			return true
		})
		return found
	}
	ast.Inspect(n.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if uses(n) {
				r.fail(n, "a function keeps a variable of a loop")
			}
		case *ast.UnaryExpr:
			if name, ok := n.X.(*ast.Ident); ok && n.Op == token.AND && uses(name) {
				r.fail(n, "the address of a variable of a loop is taken")
			}
		}
		return true
	})
}

// call sees to sets, to sorts that may swap equals, and to hashes that become keys.
func (r *rewriter) call(n *ast.CallExpr) {
	name, function := "", n.Fun
	switch f := function.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
		if s := r.info.Selections[f]; s != nil {
			if p := s.Obj().Pkg(); p != nil && p.Path() == setsPackage {
				r.ofSet(n, f)
			}
			return
		}
		if p := r.info.Uses[f.Sel]; p != nil && p.Pkg() != nil {
			r.ofPackage(f, p.Pkg().Path())
		}
	}
	// deepHashObjectToString, under the names that it has had.
	if strings.EqualFold(name, "deepHashObjectToString") && len(n.Args) == 1 {
		r.counts.names++
		from, to := r.offset(n.Pos()), r.offset(n.End())
		r.edits = append(r.edits,
			edit{from, from, "order.Name("},
			edit{to, to, ", " + r.source(n.Args[0]) + ")"},
		)
	}
}

// ofSet turns s.UnsortedList() into order.List(s).
func (r *rewriter) ofSet(n *ast.CallExpr, f *ast.SelectorExpr) {
	function, ok := map[string]string{"UnsortedList": "List", "PopAny": "Pop"}[f.Sel.Name]
	if !ok {
		return
	}
	r.counts.sets++
	at := r.offset(f.X.Pos())
	r.edits = append(r.edits,
		edit{at, at, "order." + function + "("},
		edit{r.offset(f.X.End()), r.offset(n.End()), ")"},
	)
}

// ofPackage makes sorts stable: which of two equals comes first is chance too.
func (r *rewriter) ofPackage(f *ast.SelectorExpr, path string) {
	stable := map[string]string{"sort.Sort": "Stable", "sort.Slice": "SliceStable", "slices.SortFunc": "SortStableFunc"}
	if name, ok := stable[path+"."+f.Sel.Name]; ok {
		r.counts.sorts++
		r.edits = append(r.edits, edit{r.offset(f.Sel.Pos()), r.offset(f.Sel.End()), name})
	}
	if path == "maps" && slices.Contains([]string{"All", "Keys", "Values"}, f.Sel.Name) {
		r.fail(f, "maps.%s is not rewritten yet", f.Sel.Name)
	}
}
