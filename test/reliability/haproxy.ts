// haproxy in front of several servers: one frontend for HTTP, one for gRPC; both ask the servers' readiness over HTTP.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { accepts, freePort } from '../support/ports.js';
import { pause } from './check.js';

export interface Ports {
  readonly http: number;
  readonly grpc: number;
}

const PROTOCOLS = { http: '', grpc: ' proto h2' } as const;
const HEALTH_MILLISECONDS = 200;
/**
 * Before 2.6.17 haproxy ends a server's HTTP/2 connection (GOAWAY, INTERNAL_ERROR) when trailers have to wait while frames of other streams
 * fill its buffer, whatever server it is. A window of a connection, 64 KiB, does not fill this one.
 */
const BUFFER_BYTES = 131_072;

/** Whether the command is there: Debian's package `haproxy` has it. */
export function hasHaproxy(): boolean {
  return spawnSync('haproxy', ['-v']).status === 0;
}

export function haproxyVersion(): string {
  return /version (\S+)/.exec(spawnSync('haproxy', ['-v'], { encoding: 'utf8' }).stdout)?.[1] ?? 'unknown';
}

/** Connections that are refused are tried again on the other server; requests that were sent are not. */
export async function startHaproxy(servers: readonly Ports[]): Promise<Ports & { readonly stop: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), 'tstriton-haproxy-'));
  const ports = { http: await freePort(), grpc: await freePort() };
  const check = (port: number) => `check check-proto h1 port ${port} inter ${HEALTH_MILLISECONDS}ms fall 1 rise 1`;
  const sections = (['http', 'grpc'] as const).map((protocol) => {
    const extra = PROTOCOLS[protocol];
    const lines = servers.map(
      (server, i) => `  server s${i} 127.0.0.1:${server[protocol]}${extra} ${check(server.http)}`,
    );
    return `frontend ${protocol}
  bind 127.0.0.1:${ports[protocol]}${extra}
  default_backend ${protocol}
backend ${protocol}
  balance roundrobin
${lines.join('\n')}
`;
  });
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(
    file,
    `global
  tune.bufsize ${BUFFER_BYTES}
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout check 5s
  retries 3
  option redispatch 1
  option httpchk GET /v2/health/ready
${sections.join('')}`,
  );
  const haproxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
  for (const port of Object.values(ports)) while (!(await accepts(port))) await pause(20);
  return {
    ...ports,
    stop: () => {
      haproxy.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    },
  };
}
