// What `tstriton serve --remote` does: loads the files, and serves their models through the server of another process.

import type { TritonConfig } from '../../config/generated/triton-config.js';
import { flagOf } from '../../config/flags.js';
import { readEnvironment } from '../../config/read-environment.js';
import { invalidArg } from '../../errors.js';
import { unlessInterrupted } from '../../lifecycle/interrupted-load.js';
import { checkTls } from '../../client/check-tls.js';
import type { ClientTlsOptions } from '../../client/client-options.js';
import { RemoteTriton } from '../../remote/remote-triton.js';
import { asUsage } from '../arguments.js';
import type { CliIo } from '../cli-io.js';
import { errorInOwnWords } from '../own-words.js';
import { readConfigFile } from './config-file.js';
import { loadModels } from './model-source.js';
import { optionsIn } from './option-flags.js';
import { refuseTwice, sourcesOf } from './serve.js';
import type { ServeFlags } from './serve.js';

/** The server's options that mean something to a process that binds models to it. */
const TAKEN: readonly string[] = ['engine', 'remoteAccessToken', 'exitTimeoutSecs'];

/** Resolves when a signal has ended it. */
export async function serveRemote(files: readonly string[], flags: ServeFlags, io: CliIo): Promise<void> {
  const file = await readConfigFile(flags.config, process.cwd());
  const triton = asUsage(() => remoteTriton(flags, io, file.options));
  const sources = sourcesOf(files.length > 0 ? files : file.models, flags, false);
  const say = (line: string) => {
    if (flags.quiet !== true) io.err(`${line}\n`);
  };
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  try {
    const names: string[] = [];
    const owners = new Map<string, string>();
    for (const source of sources) {
      const models = await unlessInterrupted(loadModels(source), stop.signal);
      refuseTwice(models, source.name, owners);
      for (const model of models) triton.bind(model);
      names.push(...models.map(({ modelName }) => modelName));
    }
    const serving = triton.serve();
    const told = triton.ready().then(() => {
      say(`serving ${names.join(', ')} through ${flags.remote}`);
      if (flags.json === true) io.out(`${JSON.stringify({ remote: flags.remote, models: names })}\n`);
    });
    // serve() says why it is not ready.
    await Promise.all([serving, told.catch(() => undefined)]);
  } catch (error) {
    if (error !== stop.signal.reason) throw errorInOwnWords(error, OWN_WORDS);
    say('stopped while a file was imported');
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
}

const OWN_WORDS = [
  [/ in tls\.ca$/, ' to --remote-ca'],
  [/ in tls\.cert\?$/, ' of --remote-cert?'],
  [/ options\.tls\(\)\S*: /, ' --remote-ca, --remote-cert and --remote-key: '],
] as const;

/** Throws INVALID_ARG for what a server has and a process that binds models to one has not. */
function remoteTriton(flags: ServeFlags, io: CliIo, file: TritonConfig): RemoteTriton {
  if (flags.watch === true) throw invalidArg('--watch is not for --remote');
  const given = optionsIn(flags as Readonly<Record<string, unknown>>);
  const flag = serverOptionIn(given);
  const member = serverOptionIn(file);
  const owner = `is for a server; the server at ${flags.remote} has options of its own`;
  if (flag !== undefined) throw invalidArg(`${flagOf(flag)} ${owner}`);
  if (member !== undefined) {
    throw invalidArg(`${member} of the configuration file ${owner}: name another file by --config`);
  }
  const { engine, remoteAccessToken, exitTimeoutSecs } = { ...file, ...readEnvironment(io.env).values, ...given };
  const { remote, instanceAddress } = flags;
  const tls = tlsOf(flags);
  const common = { ...(exitTimeoutSecs !== undefined && { exitTimeoutSecs }), ...(tls !== undefined && { tls }) };
  if (engine === 'tritonserver') {
    if (instanceAddress === undefined) {
      throw invalidArg(
        '--remote with --engine tritonserver needs --instance-address: the path of a Unix socket that both see, or host:port',
      );
    }
    return new RemoteTriton(remote!, { engine, instanceAddress, ...common });
  }
  if (instanceAddress !== undefined) throw invalidArg('--instance-address needs --engine tritonserver');
  if (remoteAccessToken === undefined) {
    throw invalidArg(
      "--remote needs the server's token: TSTRITON_CONFIG_REMOTE_ACCESS_TOKEN in the environment, or --remote-access-token",
    );
  }
  return new RemoteTriton(remote!, { accessToken: remoteAccessToken, ...common });
}

/** Reads the files of the flags, as each connection does; undefined without any. Throws INVALID_ARG for a certificate without its key. */
function tlsOf({ remoteCa: ca, remoteCert: cert, remoteKey: key }: ServeFlags): (() => ClientTlsOptions) | undefined {
  if ((ca ?? cert ?? key) === undefined) return undefined;
  const read = (): ClientTlsOptions => ({
    ...(ca !== undefined && { ca: ca() }),
    ...(cert !== undefined && { cert: cert() }),
    ...(key !== undefined && { key: key() }),
  });
  checkTls(read(), '--remote');
  return read;
}

function serverOptionIn(given: TritonConfig): string | undefined {
  return Object.keys(given).find((name) => !TAKEN.includes(name));
}
