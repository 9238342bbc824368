// What `tstriton serve` does: loads the files, serves them until a signal comes, and with --watch serves them anew when they change.

import { readFileSync } from 'node:fs';

import { expectEndpoint } from '../../config/complete-triton-config.js';
import { readTritonConfig } from '../../config/read-triton-config.js';
import type { CompleteTritonConfig } from '../../config/complete-triton-config.js';
import { invalidArg, TritonError } from '../../errors.js';
import { unlessInterrupted } from '../../lifecycle/interrupted-load.js';
import { ModelBinding } from '../../server/model-binding.js';
import { Triton } from '../../triton.js';
import { asUsage } from '../arguments.js';
import type { CliIo } from '../cli-io.js';
import { styleFor } from '../style.js';
import { mergeOptions, readConfigFile } from './config-file.js';
import type { ServedModel } from './exported-models.js';
import { introduction, type Access, type IntroducedModel, type ServedAt } from './introduction.js';
import { loadModels, modelSource, type ModelSource } from './model-source.js';
import { optionsIn } from './option-flags.js';
import { Reloader } from './reloader.js';
import { repositoryModels } from './repository-models.js';

/** The flags of `tstriton serve`. */
export interface ServeFlags {
  readonly watch?: boolean;
  readonly config?: string;
  readonly remote?: string;
  readonly instanceAddress?: string;
  readonly remoteCa?: () => string;
  readonly remoteCert?: () => string;
  readonly remoteKey?: () => string;
  readonly name?: string;
  readonly instances?: number;
  readonly maxBatchSize?: number;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

const TOKEN_VARIABLE = 'TSTRITON_ACCESS_TOKEN';

/** Resolves when the server was stopped by a signal. */
export async function serve(files: readonly string[], flags: ServeFlags, io: CliIo): Promise<void> {
  const file = await readConfigFile(flags.config, process.cwd());
  // Reads the options before anything is loaded, so that wrong ones are refused first.
  const { options, config } = asUsage(() => {
    const merged = mergeOptions(optionsIn(flags as Readonly<Record<string, unknown>>), io.env, file.options);
    const { config } = readTritonConfig(merged, io.env);
    expectEndpoint(config);
    return { options: merged, config };
  });
  const hasRepository = 'modelRepository' in options;
  const sources = sourcesOf(files.length > 0 ? files : file.models, flags, hasRepository);
  const say = (line: string) => io.err(`${line}\n`);
  const reloader = flags.watch === true ? new Reloader(sources, say) : undefined;
  const stop = new AbortController();
  const onSignal = () => {
    stop.abort();
    // The loads that the stop ends are no news.
    reloader?.close();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  try {
    const models: ServedModel[] = [];
    const owners = new Map<string, string>();
    for (const source of sources) {
      const loaded = await unlessStopped(reloader?.load(source) ?? loadModels(source));
      if (loaded === undefined) return say(`stopped while ${source.name} was imported`);
      refuseTwice(loaded, source.name, owners);
      models.push(...loaded);
    }
    const triton = new Triton(options);
    for (const model of models) triton.bind(model);
    await Promise.all([triton.serve(), tellWhenReady(triton, models)]);
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
    reloader?.close();
  }

  /** Undefined when a signal comes first. An import cannot be ended: it goes on until the process exits. */
  function unlessStopped<T>(promise: Promise<T>): Promise<T | undefined> {
    const { signal } = stop;
    return unlessInterrupted(promise, signal).catch((error: unknown) => {
      if (error !== signal.reason) throw error;
      return undefined;
    });
  }

  async function modelsOfRepository(triton: Triton, at: ServedAt, bound: readonly IntroducedModel[]) {
    const { ca } = accessOf(config);
    const own = { url: at.http ?? at.grpc!, accessToken: triton.accessToken, ca: ca && readFileSync(ca, 'utf8') };
    return repositoryModels(own, new Set(bound.map(({ name }) => name))).catch((error: unknown) => {
      // Where only clients with a certificate are let in, say.
      say(`the models of the repository are not told: ${TritonError.from(error).message}`);
      return [];
    });
  }

  async function tellWhenReady(triton: Triton, models: readonly ServedModel[]): Promise<void> {
    // A load that never ends gives way to the next version of its file.
    reloader?.start(triton);
    await triton.ready().catch(() => undefined);
    const failures = await Promise.all(models.map((model) => failureOf(triton, model, config)));
    // The server has ended, and says why itself.
    if (stop.signal.aborted || (triton.httpPort === undefined && triton.grpcPort === undefined)) return;
    const at = placesOf(triton, config);
    const bound = introducedModels(models, failures);
    const introduced = hasRepository ? [...bound, ...(await modelsOfRepository(triton, at, bound))] : bound;
    const style = styleFor(io.terminal.err, io.env);
    if (flags.quiet !== true) say(`\n${introduction(introduced, at, accessOf(config), style)}`);
    if (config.accessToken === undefined && wantsToken(config)) {
      say('The access token is a random one: choose it by the variable TSTRITON_CONFIG_ACCESS_TOKEN.');
    }
    if (flags.json === true) io.out(`${JSON.stringify(jsonOf(introduced, at))}\n`);
    if (reloader !== undefined && sources.length > 0) say(`watching ${sources.map(({ name }) => name).join(', ')}`);
  }
}

/** The files to serve. Throws INVALID_ARG without any. */
export function sourcesOf(files: readonly string[], flags: ServeFlags, hasRepository: boolean): readonly ModelSource[] {
  if (files.length === 0 && !hasRepository) {
    throw invalidArg(
      'expected a module or an .onnx file to serve, --model-repository, or a configuration file that names some under models',
    );
  }
  if (flags.name !== undefined && files.length > 1) {
    throw invalidArg(`--name is for one file, got ${files.length} files`);
  }
  const { name, instances, maxBatchSize } = flags;
  const sources = files.map((file) => modelSource(file, { name, instances, maxBatchSize }));
  const twice = sources.find(({ path }, index) => sources.findIndex((other) => other.path === path) !== index);
  if (twice !== undefined) throw invalidArg(`${twice.name} is there twice`);
  return sources;
}

/** `owners`: the files of the models so far, to which those of this file are added. Throws INVALID_ARG for a model that is there twice. */
export function refuseTwice(models: readonly ServedModel[], file: string, owners: Map<string, string>): void {
  for (const { modelName, modelVersion = 1 } of models) {
    const key = `'${modelName}' version ${modelVersion}`;
    const other = owners.get(key);
    if (other !== undefined) {
      const both =
        other === file ? `${file} has the model ${key} twice` : `${other} and ${file} both have the model ${key}`;
      throw invalidArg(`${both}, expected another name or version in one of them`);
    }
    owners.set(key, file);
  }
}

/** Why a model does not serve; undefined when it does. */
async function failureOf(
  triton: Triton,
  { modelName }: ServedModel,
  { modelControlMode, loadModel }: CompleteTritonConfig,
): Promise<string | undefined> {
  if (modelControlMode === 'explicit' && !loadModel.includes('*') && !loadModel.includes(modelName)) {
    return 'it is not loaded: clients load it, or --load-model';
  }
  try {
    await triton.ready(modelName);
    return undefined;
  } catch (error) {
    return TritonError.from(error).message;
  }
}

function placesOf(triton: Triton, config: CompleteTritonConfig): ServedAt {
  const place = (scheme: string, address: string, port: number | undefined) =>
    port === undefined ? undefined : `${scheme}://${hostOf(address)}:${port}`;
  const metrics = place('http', config.metricsAddress, triton.metricsPort);
  const http = place(
    config.httpUseSsl || config.httpUseSslMutual ? 'https' : 'http',
    config.httpAddress,
    triton.httpPort,
  );
  return {
    http,
    grpc: place(config.grpcUseSsl || config.grpcUseSslMutual ? 'grpcs' : 'grpc', config.grpcAddress, triton.grpcPort),
    metrics: metrics && `${metrics}/metrics`,
    page: config.allowPage && config.engine === 'tstriton' ? http && `${http}/` : undefined,
  };
}

/** An address that stands for all of the machine's cannot be asked. */
function hostOf(address: string): string {
  if (['0.0.0.0', '::', ''].includes(address)) return 'localhost';
  return address.includes(':') ? `[${address}]` : address;
}

function wantsToken({ restrictedEndpoints = [] }: CompleteTritonConfig): boolean {
  return restrictedEndpoints.includes('inference');
}

function accessOf(config: CompleteTritonConfig): Access {
  const usesTls = config.httpUseSsl || config.httpUseSslMutual;
  return {
    tokenVariable: wantsToken(config) ? TOKEN_VARIABLE : undefined,
    ca: usesTls ? config.httpServerCert : undefined,
  };
}

function introducedModels(
  models: readonly ServedModel[],
  failures: readonly (string | undefined)[],
): readonly IntroducedModel[] {
  const configs = models.map((model) => new ModelBinding(model).config);
  return configs.map((config, index) => ({
    ...config,
    askedVersion: configs.filter(({ name }) => name === config.name).length > 1 ? config.version : undefined,
    failure: failures[index],
  }));
}

/** For programs that start a server and want to know where it is. */
function jsonOf(models: readonly IntroducedModel[], at: ServedAt): object {
  const listed = models.map(({ name, version, failure }) => ({
    name,
    version,
    ready: failure === undefined,
    ...(failure !== undefined && { failure }),
  }));
  return { ...at, models: listed };
}
