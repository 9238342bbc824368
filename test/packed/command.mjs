// `node command.mjs <command…>`: starts `<command…> serve model.mjs`, asks the model over HTTP, ends the server, and fails where
// something is not as it should be. It runs in a fresh folder that has the model and nothing else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

writeFileSync(
  'model.mjs',
  `import { batch } from 'tstriton';
const x = { dtype: 'int32', shape: [-1] };
export default { modelName: 'AddOne', inputs: { x }, outputs: { y: x }, inferFunc: batch(({ x }) => ({ y: x.map((one) => one + 1) })) };
`,
);
const [, , command, ...rest] = process.argv;
if (command === undefined) throw new Error('expected the command that serves');
const ports = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];
// npx is a process in front of another: the signal is for both.
const server = spawn(command, [...rest, 'serve', 'model.mjs', '--json', ...ports], {
  detached: true,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const exit = once(server, 'exit');
const [line] = await Promise.race([
  once(createInterface({ input: server.stdout }), 'line'),
  exit.then(([code]) => Promise.reject(new Error(`the server ended with ${code}`))),
]);
const { http } = JSON.parse(line);
const inputs = [{ name: 'x', datatype: 'INT32', shape: [1, 3], data: [1, 2, 3] }];
const answer = await fetch(`${http}/v2/models/AddOne/infer`, { method: 'POST', body: JSON.stringify({ inputs }) });
const { outputs } = /** @type {any} */ (await answer.json());
if (outputs?.[0]?.data?.join() !== '2,3,4') throw new Error(`expected 2,3,4, got ${JSON.stringify(outputs)}`);
process.kill(-Number(server.pid), 'SIGTERM');
const [code, signal] = await exit;
if (code !== 0 && signal !== 'SIGTERM' && code !== 143) throw new Error(`expected 0, got ${code ?? signal}`);
process.stdout.write(`${[command, ...rest].join(' ')}: served, and ended\n`);
