// Starts the servers that the real clients ask, prints their ports as one line of JSON, and serves until SIGTERM.
//
// Draws a page with known text, and leaves it in the folder for the cases that have it read: ocr.jpg and ocr.json.
//
//   node test/interop/server.mjs <folder with ca.pem, server.pem, server.key>
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Triton } from 'tstriton';

import { startHttp2Echo } from './http2-echo.mjs';
import { bindAddSub, bindModels } from './models.mjs';

const certificates = process.argv[2];
if (certificates === undefined) throw new Error('expected the folder of the certificates as the argument');

/** @param {string} module */
const compiled = (module) => import(new URL(`../../build/examples/${module}`, import.meta.url).href);
/** @type {typeof import('../../examples/ocr/client.js')} */
const { drawPages } = await compiled('ocr/client.js');
/** @type {typeof import('../../examples/ocr/pipeline.js')} */
const { bindOcr } = await compiled('ocr/pipeline.js');

const anyPort = { httpPort: 0, grpcPort: 0, metricsPort: 0 };
const serverCert = join(certificates, 'server.pem');
const serverKey = join(certificates, 'server.key');
const rootCert = join(certificates, 'ca.pem');
const encrypted = {
  ...anyPort,
  allowMetrics: false,
  httpServerCert: serverCert,
  httpServerKey: serverKey,
  grpcServerCert: serverCert,
  grpcServerKey: serverKey,
};

const servers = {
  // Everything allowed, for whatever is not about permissions.
  open: new Triton({
    ...anyPort,
    restrictedEndpoints: [],
    allowClientShm: true,
    httpHeaderForwardPattern: '^interop-',
    grpcHeaderForwardPattern: '^interop-',
    corsAllowOrigin: '*',
  }),
  // The defaults with a token, and one API behind a header of its own.
  guarded: new Triton({
    ...anyPort,
    accessToken: 'interop-token',
    httpRestrictedApi: ['statistics:interop-key=secret'],
    grpcRestrictedProtocol: ['statistics:interop-key=secret'],
  }),
  // Models that clients load and unload.
  managed: new Triton({ ...anyPort, restrictedEndpoints: [], modelControlMode: 'explicit', loadModel: ['AddSub'] }),
  secure: new Triton({ ...encrypted, httpUseSsl: true, grpcUseSsl: true }),
  mutual: new Triton({
    ...encrypted,
    httpUseSslMutual: true,
    httpRootCert: rootCert,
    grpcUseSslMutual: true,
    grpcRootCert: rootCert,
  }),
  ocr: new Triton(anyPort),
};

bindModels(servers.open);
bindAddSub(servers.guarded);
bindAddSub(servers.managed);
bindAddSub(servers.managed, 1, 'Spare');
bindAddSub(servers.secure);
bindAddSub(servers.mutual);
bindOcr(servers.ocr);
for (const { lines, image } of await drawPages(1)) {
  writeFileSync(join(certificates, 'ocr.jpg'), image);
  writeFileSync(join(certificates, 'ocr.json'), JSON.stringify(lines));
}

const triton = Object.values(servers);
const stopped = new Promise((resolve) => {
  process.once('SIGTERM', resolve);
  process.once('SIGINT', resolve);
});
await Promise.all(triton.map((server) => server.run()));
const ports = Object.entries(servers).map(([name, { httpPort, grpcPort, metricsPort }]) => [
  name,
  { http: httpPort, grpc: grpcPort, metrics: metricsPort },
]);
const echo = await startHttp2Echo(certificates);
process.stdout.write(`${JSON.stringify({ ...Object.fromEntries(ports), http2: echo.ports })}\n`);
await stopped;
await Promise.all([...triton.map((server) => server.stop()), echo.close()]);
