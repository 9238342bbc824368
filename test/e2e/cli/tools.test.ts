// `tstriton check`, `deploy` and `completion`, and the program itself, as processes of the package that is published.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { packedPackage, type PackedPackage } from '../../support/packed-package.js';
import { startServer } from '../../support/start-server.js';

let installed: PackedPackage;
beforeAll(async () => {
  installed = await packedPackage();
});
afterAll(() => installed[Symbol.dispose]());

interface Report {
  readonly sections: readonly {
    readonly title: string;
    readonly findings: readonly { readonly name: string; readonly status: string; readonly text: string }[];
  }[];
}

const FREE = { TSTRITON_CONFIG_HTTP_PORT: '0', TSTRITON_CONFIG_GRPC_PORT: '0', TSTRITON_CONFIG_METRICS_PORT: '0' };

async function check(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { code, stdout, stderr } = await installed.run(['check', '--json', ...args], { env: { ...FREE, ...env } });
  const { sections } = JSON.parse(stdout) as Report;
  return {
    code,
    stdout,
    stderr,
    sections: Object.fromEntries(sections.map(({ title, findings }) => [title, findings])),
  };
}

describe('tstriton check', () => {
  it('asks a server of its own over both protocols', async () => {
    const { code, stderr, sections } = await check([]);
    expect([code, stderr]).toEqual([0, '']);
    expect(sections['Self-test']!.map(({ name, status }) => [name, status])).toEqual(
      ['start', 'HTTP, JSON', 'HTTP, binary', 'gRPC', 'HTTP stream', 'gRPC stream', 'health', 'metrics'].map((name) => [name, 'ok']), // prettier-ignore
    );
    expect(sections['Environment']).toEqual(
      expect.arrayContaining([{ name: 'Node', status: 'ok', text: process.versions.node }]),
    );
  });

  it('is a report for a person, too', async () => {
    const { code, stdout, stderr } = await installed.run(['check'], { env: FREE });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Environment\n/);
    expect(stdout).toMatch(/^ {2}✔ gRPC +two vectors were added and subtracted in \d/m);
  });

  it('has no secrets, and options of another server do not keep its own from starting', async () => {
    const secret = 'do-not-tell';
    const { code, stdout, sections } = await check([], {
      TSTRITON_CONFIG_ACCESS_TOKEN: secret,
      TSTRITON_CONFIG_RESTRICTED_ENDPOINTS: 'health',
      TSTRITON_CONFIG_HTTP_RESTRICTED_API: `inference:key=${secret}`,
      TSTRITON_CONFIG_ALLOW_HTTP: 'false',
      TSTRITON_ACCESS_TOKEN: secret,
      HTTPS_PROXY: `http://user:${secret}@proxy`,
    });
    expect(stdout).not.toContain(secret);
    expect(stdout).toContain('TSTRITON_CONFIG_ACCESS_TOKEN');
    expect([code, sections['Self-test']!.filter(({ status }) => status !== 'ok')]).toEqual([0, []]);
  });

  it('tells which port is taken, and of what variable is wrong', async () => {
    const taken = createServer().listen(0, '0.0.0.0');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const { code, sections } = await check(['--no-self-test'], { TSTRITON_CONFIG_GRPC_PORT: String(port) });
    await new Promise((resolve) => taken.close(resolve));
    expect([code, Object.keys(sections)]).toEqual([0, ['Environment', 'Ports']]);
    const text = `0.0.0.0:${port} is taken; is a server running already?`;
    expect(sections['Ports']).toEqual(expect.arrayContaining([{ name: 'gRPC', status: 'warning', text }]));

    const wrong = await check([], { TSTRITON_CONFIG_HTTP_PORT: 'x' });
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toMatch(/^tstriton: failed: variables/);
    expect(wrong.sections['Ports']).toEqual([
      { name: 'variables', status: 'failed', text: 'TSTRITON_CONFIG_HTTP_PORT must be an integer, got "x"' },
    ]);
  });

  it('looks at a running server', async () => {
    const bind = { modelName: 'Echo', inputs: { x: { dtype: 'int32', shape: [1] } }, outputs: { x: { dtype: 'int32', shape: [1] } }, inferFunc: (requests: never) => requests } as const; // prettier-ignore
    await using server = await startServer((triton) => triton.bind(bind as never), { restrictedEndpoints: [] });
    for (const url of [server.http, server.grpc]) {
      const { code, sections } = await check(['--no-self-test', url]);
      expect(code).toBe(0);
      expect(sections[url]!.map(({ name, status }) => `${name}: ${status}`)).toEqual([
        'live: ok',
        'ready: ok',
        'metadata: ok',
        'Echo 1: ok',
      ]);
    }
    await using guarded = await startServer((triton) => triton.bind(bind as never));
    const { sections } = await check(['--no-self-test', guarded.http]);
    expect(sections[guarded.http]!.at(-1)).toEqual({ name: 'models', status: 'ok', text: 'Echo ready' });
    const nobody = await check(['--no-self-test', 'http://127.0.0.1:2']);
    expect([nobody.code, nobody.stderr]).toEqual([1, 'tstriton: failed: live\n']);
    const wrong = await installed.run(['check', '--no-self-test', '--json', 'ftp://x']);
    expect(wrong.code).toBe(2);
  });
});

describe('tstriton deploy', () => {
  const REQUIRED = ['--name', 'add-sub', '--image', 'registry.example.org/add-sub:1.0'];

  it('prints a Deployment, a Service and a PodDisruptionBudget', async () => {
    const { code, stdout, stderr } = await installed.run(['deploy', 'model.js', ...REQUIRED, '--http-port', '9000', '-e', 'A=b c', '--', '--log-verbose', '1']); // prettier-ignore
    expect([code, stderr]).toEqual([0, '']);
    const [deployment, service, budget, ...others] = stdout.split('---\n');
    expect(others).toEqual([]);
    expect(budget).toContain('kind: PodDisruptionBudget');
    expect(deployment).toContain(
      'args:\n            - tstriton\n            - serve\n            - model.js\n            - "--log-verbose"\n            - "1"\n',
    );
    expect(deployment).toContain('containerPort: 9000');
    expect(deployment).toContain('- name: A\n              value: "b c"');
    expect(service).toContain('kind: Service');
  });

  it('writes them into a folder', async () => {
    const { code, stdout, stderr } = await installed.run(['deploy', 'model.js', ...REQUIRED, '--output', 'out/k8s']);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toBe(
      'wrote out/k8s/deployment.yaml\nwrote out/k8s/service.yaml\nwrote out/k8s/pod-disruption-budget.yaml\n',
    );
    expect(readFileSync(join(installed.folder, 'out/k8s/service.yaml'), 'utf8')).toContain('kind: Service');
  });

  it.each([
    [['model.js', '--name', 'a'], "required option '--image <image>' not specified"],
    [['model.js', ...REQUIRED, '--memory', 'much'], '--memory must be bytes'],
    [['model.js', ...REQUIRED, '--grpc-port', '65536'], '--grpc-port must be an integer from 0 to 65535'],
    [['model.js', ...REQUIRED, '--format', 'nomad'], "argument 'nomad' is invalid. Allowed choices are"],
    [['model.js', ...REQUIRED, '--output', 'package.json'], '--output: '],
    [
      [...REQUIRED, '--', '--log-verbse=1'],
      '-- --log-verbse=1 is no flag of tstriton serve; did you mean -- --log-verbose?',
    ],
    [[...REQUIRED, '--', '--instances', 'zero'], "-- option '--instances <count>' argument 'zero' is invalid."],
    [[...REQUIRED, '--', '--remote', 'grpc://a'], '-- --remote does not fit the files: '],
  ])('refuses %j', async (args, message) => {
    const { code, stdout, stderr } = await installed.run(['deploy', ...args]);
    expect(stderr).toContain(`tstriton: `);
    expect(stderr).toContain(message);
    expect([code, stdout]).toEqual([2, '']);
  });
});

describe('tstriton completion', () => {
  it('completes commands, flags, values and files in bash', async () => {
    const { stdout } = await installed.run(['completion', 'bash']);
    const ask = (...words: readonly string[]) => {
      const script = `${stdout}
compopt() { echo files; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tstriton; echo "\${COMPREPLY[*]}"`;
      return spawnSync('bash', ['-c', script, 'bash', 'tstriton', ...words], { encoding: 'utf8' }).stdout.trim();
    };
    expect(ask('se')).toBe('serve');
    expect(ask('')).toContain('infer');
    expect(ask('serve', '--http-p')).toBe('--http-port');
    expect(ask('serve', '--rate-')).toBe('');
    expect(ask('serve', '--log-format', '')).toBe('default ISO8601 json');
    expect(ask('serve', '--log-format', '=', 'I')).toBe('ISO8601');
    expect(ask('serve', '--http-port', '')).toBe('');
    expect(ask('serve', 'mod')).toBe('files');
    expect(ask('serve', '--config', 'c')).toBe('files');
    expect(ask('completion', 'z')).toBe('zsh');
  });

  it.each(['zsh', 'fish'])('has a script for %s', async (shell) => {
    const { code, stdout, stderr } = await installed.run(['completion', shell]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('http-port');
    // Null where there is no such shell.
    expect([0, null]).toContain(spawnSync(shell, ['-n'], { input: stdout }).status);
  });

  it('knows no other shell', async () => {
    const { code, stderr } = await installed.run(['completion', 'tcsh']);
    expect([code, stderr]).toEqual([
      2,
      "tstriton: command-argument value 'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish.\n",
    ]);
  });
});

describe('tstriton', () => {
  it('has a help with every command, and one for each of them with an example', async () => {
    const { stdout } = await installed.run(['--help']);
    const commands = Array.from(stdout.matchAll(/^ {2}([a-z]+) .*/gm), ([, name]) => name!);
    expect(commands).toEqual(['serve', 'infer', 'bench', 'check', 'deploy', 'gen', 'completion', 'help']);
    expect(stdout).toContain('Exit codes: 0 done, 1 it did not work, 2 called wrongly, 130 interrupted.');
    for (const name of commands.slice(0, -1)) {
      const help = await installed.run([name, '--help']);
      expect([name, help.code, help.stderr]).toEqual([name, 0, '']);
      expect(help.stdout).toMatch(/^Usage: tstriton /);
      expect(help.stdout).toMatch(/^Examples?:\n {2}/m);
    }
  });

  it.each([[['sevre']], [['sevre', '--help']], [['help', 'sevre']]])(
    'names the command that somebody may have meant by %j',
    async (args) => {
      const { code, stdout, stderr } = await installed.run(args);
      expect([code, stdout, stderr]).toEqual([2, '', "tstriton: unknown command 'sevre' (Did you mean serve?)\n"]);
    },
  );

  it.runIf(existsSync('/dev/full'))('says in one line that the disk is full, and ends with 1', () => {
    const full = openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(process.execPath, [installed.command, '--help'], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    closeSync(full);
    expect(stderr).toMatch(/^tstriton: cannot write the output: ENOSPC: .*\n$/);
    expect(status).toBe(1);
  });

  it('ends with 2 when it is called wrongly, also where nobody reads what it says of it', async () => {
    const child = spawn(process.execPath, [installed.command, 'sevre'], { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.destroy();
    expect(await once(child, 'exit')).toEqual([2, null]);
  });
});
