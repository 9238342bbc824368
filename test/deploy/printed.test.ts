// The files of deploy/ for Kubernetes and KServe are what `tstriton deploy` prints, with comments: whoever begins with the one may go on with
// the other.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

import { runCli } from '../../src/cli/program.js';
import { testedIo } from '../support/tested-io.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const object = (path: string): unknown => parse(readFileSync(`${root}/deploy/${path}.yaml`, 'utf8'));
const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { readonly version: string };
const NAMED = ['deploy', '--name', 'tstriton', '--image', `tstriton:${version}`];

async function printed(...args: readonly string[]): Promise<readonly unknown[]> {
  const { io, written } = testedIo();
  const code = await runCli([...NAMED, ...args], io);
  expect([code, written.err]).toEqual([0, '']);
  return parseAllDocuments(written.out).map((document) => document.toJS() as unknown);
}

describe('the files that tstriton deploy prints', () => {
  it('are those of deploy/kubernetes', async () => {
    const args = ['--models-claim', 'tstriton-models', '--max-replicas', '10', '--service-monitor'];
    expect(await printed(...args)).toEqual([
      object('kubernetes/base/deployment'),
      object('kubernetes/base/service'),
      object('kubernetes/base/pod-disruption-budget'),
      object('kubernetes/base/horizontal-pod-autoscaler'),
      object('kubernetes/monitoring/service-monitor'),
    ]);
  });

  it('are those of deploy/kserve', async () => {
    const args = ['--format', 'kserve', '--max-replicas', '10', '--storage-uri', 'pvc://tstriton-models/repository'];
    expect(await printed(...args)).toEqual([object('kserve/serving-runtime'), object('kserve/inference-service')]);
    expect(await printed('--format', 'kserve')).toEqual([object('kserve/serving-runtime')]);
  });

  it.each([
    [['--storage-uri', 'pvc://a/b'], '--storage-uri is not for --format kubernetes: it is KServe'],
    [['--format', 'kserve', '--http-port', '8000'], '--http-port is not for --format kserve: KServe asks at 8080 and 9000'],
    [['--format', 'kserve', '--models-claim', 'a'], '--models-claim is not for --format kserve: KServe mounts'],
    [['--format', 'kserve', '--service-monitor'], '--service-monitor is not for --format kserve: KServe names'],
  ])('are not made where a flag means nothing: %j', async (args, message) => {
    const { io, written } = testedIo();
    expect(await runCli([...NAMED, ...args], io)).toBe(2);
    expect(written.out).toBe('');
    expect(written.err).toContain(`tstriton: ${message}`);
  }); // prettier-ignore
});
