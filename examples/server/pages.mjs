// @ts-check
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname, join, normalize, sep } from 'node:path';

/** @type {Record<string, string>} */
const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.map': 'application/json',
  '.svg': 'image/svg+xml',
};

/**
 * Serves the files of folders, each below its own path.
 *
 * @param {Record<string, string>} folders For example `{ '/': 'pages/dist' }`. Paths end with a slash, longer ones come first.
 * @returns {import('node:http').RequestListener}
 */
export function createPages(folders) {
  return async (request, response) => {
    try {
      const path = decodeURIComponent((request.url ?? '/').split(/[?#]/)[0] ?? '/');
      if (Object.hasOwn(folders, `${path}/`)) {
        return response.writeHead(301, { location: `${path}/` }).end();
      }
      const mount = Object.keys(folders).find((prefix) => path.startsWith(prefix));
      const isRead = request.method === 'GET' || request.method === 'HEAD';
      if (!isRead || mount === undefined || path.includes('\0')) throw new Error('not found');
      const folder = normalize(folders[mount] ?? '');
      let file = normalize(join(folder, path.slice(mount.length)));
      if (file !== folder && !file.startsWith(folder + sep)) throw new Error('not found');
      if ((await stat(file)).isDirectory()) file = join(file, 'index.html');
      const { size } = await stat(file);
      response.writeHead(200, {
        'content-type': types[extname(file)] ?? 'application/octet-stream',
        'content-length': size,
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
      });
      if (request.method === 'HEAD') return response.end();
      createReadStream(file)
        .on('error', () => response.destroy())
        .pipe(response);
    } catch {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found');
    }
  };
}
