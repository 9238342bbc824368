// A request as the bytes that the HTTP load sends over and over.

import type { HttpForm } from '../tensor-wire.js';

export function rawHttpRequest(port: number, path: string, form: HttpForm): Buffer {
  const headers = { host: `127.0.0.1:${port}`, ...form.headers, 'content-length': String(form.body.length) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), form.body]);
}
