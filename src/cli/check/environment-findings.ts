// The machine, Node and the installed packages, as far as a server's work depends on them.

import { readFileSync, statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import * as os from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { TritonError } from '../../errors.js';
import { checkTritonserver } from '../../tritonserver/find-tritonserver.js';
import { VERSION } from '../../server/version.js';
import type { Finding } from './finding.js';
import { toldVariables } from './masked.js';

const LEAST_NODE = 20;
const LEAST_FILES = 4096;
const PEERS = ['jiti', 'tsx', 'onnxruntime-node', '@opentelemetry/api'] as const;

export function environmentFindings(env: Readonly<Record<string, string | undefined>>): readonly Finding[] {
  const told = (name: string, text: string): Finding => ({ name, status: 'told', text });
  return [
    told('TSTriton', VERSION),
    nodeFinding(process.versions.node),
    told('system', `${os.type()} ${os.release()} ${process.arch}`),
    told(
      'processors',
      `${os.availableParallelism()} of ${os.cpus().length} usable, ${os.cpus()[0]?.model.trim() ?? 'unknown'}`,
    ),
    memoryFinding(),
    ...limitFindings(),
    typescriptFinding(),
    ...PEERS.map((peer) => told(peer, installedVersion(peer) ?? 'not installed')),
    tritonserverFinding(env),
    ...toldVariables(env).map(([name, value]) => told(name, value)),
  ];
}

/** Needed only where the environment says so. */
function tritonserverFinding(env: Readonly<Record<string, string | undefined>>): Finding {
  const name = 'tritonserver';
  const isNeeded = env['TSTRITON_CONFIG_ENGINE'] === name;
  const path = env['TSTRITON_CONFIG_TRITONSERVER_PATH'];
  try {
    return { name, status: isNeeded ? 'ok' : 'told', text: checkTritonserver(path) };
  } catch (error) {
    const isAsked = isNeeded || path !== undefined;
    return isAsked
      ? { name, status: 'failed', text: TritonError.from(error).message }
      : { name, status: 'told', text: "not installed; only engine: 'tritonserver' needs it" };
  }
}

function nodeFinding(version: string): Finding {
  const isOld = Number(version.split('.')[0]) < LEAST_NODE;
  return {
    name: 'Node',
    status: isOld ? 'failed' : 'ok',
    text: `${version}${isOld ? `, expected ${LEAST_NODE} or newer` : ''}`,
  };
}

function memoryFinding(): Finding {
  const limit = process.constrainedMemory();
  const bounded = limit > 0 && limit < os.totalmem() ? `, this process may have ${gibibytes(limit)}` : '';
  return {
    name: 'memory',
    status: 'told',
    text: `${gibibytes(os.freemem())} of ${gibibytes(os.totalmem())} free${bounded}`,
  };
}

/** Linux tells them; elsewhere there are none to tell. */
function limitFindings(): readonly Finding[] {
  const findings: Finding[] = [];
  const open = /^Max open files +(\d+|unlimited)/m.exec(contentOf('/proc/self/limits'))?.[1];
  if (open !== undefined) {
    const isFew = open !== 'unlimited' && Number(open) < LEAST_FILES;
    const text = isFew ? `${open}: each connection takes one, more are set by ulimit -n` : open;
    findings.push({ name: 'open files', status: isFew ? 'warning' : 'ok', text });
  }
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    findings.push({ name: 'shared memory', status: 'told', text: `${gibibytes(bavail * bsize)} free in /dev/shm` });
  } catch {
    findings.push({ name: 'shared memory', status: 'told', text: 'no /dev/shm' });
  }
  return findings;
}

function typescriptFinding(): Finding {
  const strips = Boolean((process.features as { readonly typescript?: unknown }).typescript);
  const helper = ['jiti', 'tsx'].find((name) => installedVersion(name) !== undefined);
  const text = strips
    ? 'loaded by Node itself'
    : helper === undefined
      ? 'needs jiti or tsx, or Node 22.18'
      : `loaded by ${helper}`;
  return { name: 'TypeScript', status: strips || helper !== undefined ? 'ok' : 'warning', text };
}

/** As a module of the user's finds it, or this package. */
function installedVersion(name: string): string | undefined {
  for (const base of [pathToFileURL(join(process.cwd(), 'model.js')).href, import.meta.url]) {
    const folders = createRequire(base).resolve.paths(name) ?? [];
    for (const folder of folders) {
      const manifest = contentOf(join(folder, name, 'package.json'));
      if (manifest !== '') return (JSON.parse(manifest) as { readonly version?: string }).version ?? 'unknown';
    }
  }
  return undefined;
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
