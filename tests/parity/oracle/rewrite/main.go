// Command rewrite takes chance out of the controllers: it copies the modules that they are in, and rewrites every loop
// through a map in the packages that decide, so that the loop asks the package order which key comes next. It
// changes nothing else: the program that comes of it does what Go allows the real ones to do.
//
//	go run ./rewrite -tags ordered PREFIX...
//	go build -tags ordered -modfile ordered.mod .
//
// It reads the packages of the module in the current folder, and rewrites those whose import paths begin with one of
// the prefixes. The copies go to the folder modules, beside a go.mod that names them.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// unit is what go list says of a package.
type unit struct {
	ImportPath, Dir, Export                         string
	GoFiles, SFiles, HFiles, OtherFiles, EmbedFiles []string
	ImportMap                                       map[string]string
	Module                                          *struct {
		Path, Dir, GoMod, GoVersion string
	}
}

// copies is where the copied modules go.
const copies = "modules"

func main() {
	log.SetFlags(0)
	tags := flag.String("tags", "", "build tags")
	flag.Parse()
	units, err := list(*tags)
	check(err)
	exports := map[string]string{}
	for _, u := range units {
		exports[u.ImportPath] = u.Export
	}
	changed, modules, total := map[string][]byte{}, map[string]string{}, tally{}
	for _, u := range units {
		if !wanted(u.ImportPath, flag.Args()) {
			continue
		}
		files, counts, err := rewritten(u, exports)
		if err != nil {
			log.Fatalf("%s: %v", u.ImportPath, err)
		}
		maps.Copy(changed, files)
		modules[u.Module.Path] = u.Module.GoMod
		if counts != (tally{}) {
			fmt.Println(u.ImportPath, counts)
		}
		total.add(counts)
	}
	if total.loops == 0 || total.names == 0 {
		log.Fatal("nothing to rewrite: have the packages moved?")
	}
	for _, u := range units {
		if u.Module != nil && modules[u.Module.Path] != "" {
			check(copied(u, changed))
		}
	}
	check(moduleFile(modules))
}

// copied writes the files of a package.
func copied(u unit, changed map[string][]byte) error {
	within, err := filepath.Rel(u.Module.Dir, u.Dir)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(u.GoFiles, u.SFiles, u.HFiles, u.OtherFiles, u.EmbedFiles) {
		from, to := filepath.Join(u.Dir, name), filepath.Join(copies, u.Module.Path, within, name)
		text, ok := changed[from]
		if !ok {
			if text, err = os.ReadFile(from); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// moduleFile writes ordered.mod, which is go.mod with the copies in place of the modules.
func moduleFile(modules map[string]string) error {
	for from, to := range map[string]string{"go.mod": "ordered.mod", "go.sum": "ordered.sum"} {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	arguments := []string{"mod", "edit"}
	for path, file := range modules {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(copies, path, "go.mod"), text, 0o644); err != nil {
			return err
		}
		arguments = append(arguments, "-replace", path+"=./"+copies+"/"+path)
	}
	command := exec.Command("go", append(arguments, "ordered.mod")...)
	command.Stderr = os.Stderr
	return command.Run()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// wanted: a prefix ends where a name may go on, as "…/endpoint" also stands for endpointslice.
func wanted(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// list has the packages that the program is built from, with the types that they export.
func list(tags string) ([]unit, error) {
	command := exec.Command("go", "list", "-deps", "-export", "-tags", tags,
		"-json=ImportPath,Dir,Export,GoFiles,SFiles,HFiles,OtherFiles,EmbedFiles,ImportMap,Module", ".")
	command.Stderr = os.Stderr
	pipe, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	var units []unit
	for decoder := json.NewDecoder(pipe); ; {
		var u unit
		if err := decoder.Decode(&u); errors.Is(err, io.EOF) {
			return units, command.Wait()
		} else if err != nil {
			return nil, err
		}
		units = append(units, u)
	}
}

// rewritten has the files of a package that change, by path.
func rewritten(u unit, exports map[string]string) (map[string][]byte, tally, error) {
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range u.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(u.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, tally{}, err
		}
		files = append(files, file)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		if mapped, ok := u.ImportMap[path]; ok {
			path = mapped
		}
		return os.Open(exports[path])
	}
	info := &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Uses:       map[*ast.Ident]types.Object{},
		Defs:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	config := types.Config{Importer: importer.ForCompiler(set, "gc", lookup)}
	if _, err := config.Check(u.ImportPath, set, files, info); err != nil {
		return nil, tally{}, err
	}
	out, total := map[string][]byte{}, tally{}
	for _, file := range files {
		path := set.Position(file.Package).Filename
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, tally{}, err
		}
		r := rewriter{set: set, info: info, text: text, version: u.Module.GoVersion}
		changed, err := r.file(file)
		if err != nil {
			return nil, tally{}, err
		}
		if changed != nil {
			out[path] = changed
		}
		total.add(r.counts)
	}
	return out, total, nil
}
