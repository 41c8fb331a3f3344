// A web server for the folder of the playground: its files, each with its media type, and nothing else.
import { readFile, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";

const MEDIA_TYPES = {
  ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".wasm": "application/wasm",
};

// Serves the folder until the process ends. Whatever is asked besides its files is told to `stray`.
export async function serveFolder(folder, stray) {
  const names = await readdir(folder);
  const files = new Map(await Promise.all(names.map(async (name) => [`/${name}`, await readFile(`${folder}/${name}`)])));
  files.set("/", files.get("/index.html"));
  // The page declares its policy. As a header, it holds for the worker too.
  const [, policy] = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(files.get("/").toString());
  const server = createServer(({ method, url }, response) => {
    const body = files.get(url);
    if (method !== "GET" || body === undefined) {
      stray(`asks ${method} ${url}`);
      return response.writeHead(404).end();
    }
    const type = MEDIA_TYPES[extname(url) || ".html"];
    response.writeHead(200, { "content-type": type, "content-security-policy": policy, "x-content-type-options": "nosniff" }).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return `http://127.0.0.1:${server.address().port}`;
}
