// The whole comparisons with PyTriton's decorators and checks: what the tests assert and the table of rules counts.
import { devNull } from 'node:os';
import { Triton } from 'tstriton';
import { FREE_PORTS } from '../support/start-server.js';
import { readCases } from './cases.js';
import type { ClientCase } from './client-cases.js';
import { bindClientModels } from './client-models.js';
import { CLIENT_RULES } from './client-rules.js';
import { DECORATOR_RULES } from './decorator-rules.js';
import { ERROR_RULES } from './error-rules.js';
import type { ErrorCase, LifecycleCase } from './lifecycle-cases.js';
import { LIFECYCLE_RULES } from './lifecycle-rules.js';
import type { DecoratorCase, ValidationCase } from './pytriton-cases.js';
import { replayClients } from './replay-clients.js';
import { replayDecorators } from './replay-decorators.js';
import { replayErrors } from './replay-errors.js';
import { replayLifecycle } from './replay-lifecycle.js';
import { watch, type Mode, type Replays } from './replays.js';
import { replayValidation } from './replay-validation.js';
import { VALIDATION_RULES } from './validation-rules.js';

/** No server runs: the decorators are called as a server calls them. */
export async function replayDecoratorFile(): Promise<Replays> {
  const cases = readCases<DecoratorCase>('pytriton/decorators.jsonl');
  return { decorators: await watch(cases, (watched) => replayDecorators(watched, DECORATOR_RULES)) };
}

export async function replayValidationFile(mode: Mode): Promise<Replays> {
  const config = { allowGrpc: false, allowMetrics: false, logFile: devNull };
  const triton = new Triton({ ...config, ...mode, httpAddress: '127.0.0.1', httpPort: 0 });
  try {
    const cases = readCases<ValidationCase>('pytriton/validation.jsonl');
    return { validation: await watch(cases, (watched) => replayValidation(watched, triton, VALIDATION_RULES)) };
  } finally {
    await triton.stop();
  }
}

/** Servers in processes of their own, which are ended by signals among other things. */
export async function replayLifecycleFile(): Promise<Replays> {
  const cases = readCases<LifecycleCase>('pytriton/lifecycle.jsonl');
  return { lifecycle: await watch(cases, (watched) => replayLifecycle(watched, LIFECYCLE_RULES)) };
}

export async function replayErrorFile(mode: Mode): Promise<Replays> {
  const cases = readCases<ErrorCase>('pytriton/errors.jsonl');
  return { errors: await watch(cases, (watched) => replayErrors(watched, mode, ERROR_RULES)) };
}

/** Our client stands for PyTriton's five. */
export async function replayClientFile(mode: Mode): Promise<Replays> {
  const triton = new Triton({
    ...FREE_PORTS,
    ...mode,
    httpAddress: '127.0.0.1',
    grpcAddress: '127.0.0.1',
    httpHeaderForwardPattern: 'x-fwd-.*',
    logFile: devNull,
  });
  bindClientModels(triton);
  try {
    await triton.run();
    const cases = readCases<ClientCase>('pytriton/clients.jsonl');
    return { clients: await watch(cases, (watched) => replayClients(watched, triton, CLIENT_RULES)) };
  } finally {
    await triton.stop();
  }
}
