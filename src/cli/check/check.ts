// What `tstriton check` does.

import { TritonError } from '../../errors.js';
import type { CliIo } from '../cli-io.js';
import { progress } from '../progress.js';
import { accessOptions, type AccessFlags } from '../server-access.js';
import { styleFor } from '../style.js';
import { environmentFindings } from './environment-findings.js';
import { showSection, type Finding, type Section } from './finding.js';
import { portFindings } from './port-findings.js';
import { selfTest } from './self-test.js';
import { serverFindings } from './server-findings.js';

/** The flags of `tstriton check`. */
export interface CheckFlags extends AccessFlags {
  readonly json?: boolean;
  readonly selfTest: boolean;
}

type Look = readonly [title: string, look: () => Promise<readonly Finding[]>];

export async function check(url: string | undefined, flags: CheckFlags, io: CliIo): Promise<void> {
  const looks: readonly Look[] = [
    ['Environment', async () => environmentFindings(io.env)],
    ['Ports', () => portFindings(io.env)],
    ...(flags.selfTest ? [['Self-test', selfTest] satisfies Look] : []),
    ...(url === undefined ? [] : [[url, () => serverFindings(url, accessOptions(flags, io))] satisfies Look]),
  ];
  const sections: Section[] = [];
  const bar = progress(io);
  const style = styleFor(io.terminal.out, io.env);
  for (const [index, [title, look]] of looks.entries()) {
    bar.update(index / looks.length, title);
    const findings = await look().finally(() => bar.clear());
    sections.push({ title, findings });
    if (flags.json !== true) io.out(`${index > 0 ? '\n' : ''}${showSection({ title, findings }, style)}`);
  }
  if (flags.json === true) io.out(`${JSON.stringify({ sections }, undefined, 2)}\n`);
  const failed = sections.flatMap(({ findings }) => findings).filter(({ status }) => status === 'failed');
  if (failed.length > 0) throw new TritonError('UNAVAILABLE', `failed: ${failed.map(({ name }) => name).join(', ')}`);
}
