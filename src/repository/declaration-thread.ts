// Entry of the thread that imports a model's module to read its declaration. It is a thread of its own because a module may do
// anything when it is imported. Also, a changed module is loaded again only where nothing of it has been loaded.

import { parentPort, workerData } from 'node:worker_threads';

import { assert, TritonError } from '../errors.js';
import { loadCallableModule } from '../host/load-callable-module.js';
import { sendFailure } from '../link/sent-error.js';
import { declarationOf } from './declaration.js';
import type { DeclarationReply, DeclarationRequest } from './read-declaration.js';

assert(parentPort !== null, 'declaration-thread.js runs in a worker thread only');
const { url, tsx, name, version } = workerData as DeclarationRequest;

async function read(): Promise<DeclarationReply> {
  try {
    const { binding } = await loadCallableModule(url, tsx);
    return { declaration: binding && declarationOf(binding, { name, version }) };
  } catch (error) {
    return { failure: sendFailure(TritonError.from(error)) };
  }
}

const reply = await read();
try {
  parentPort.postMessage(reply);
} catch (error) {
  const message = `the declaration of ${url} cannot cross into another thread: ${TritonError.from(error).message}`;
  parentPort.postMessage({ failure: sendFailure(new TritonError('INVALID_ARG', message)) } satisfies DeclarationReply);
}
