// A model repository in a folder of its own, gone after the test or file that made it.
import { callJson } from './grpc-service.js';
import { repositoryAt, type TestedRepository } from './repository-folder.js';
import { inferJson } from './start-server.js';
import { emptyFolder } from './temporary-files.js';

export type { TestedRepository };

/** With these files. */
export function modelRepository(files: Readonly<Record<string, Uint8Array | string>> = {}): TestedRepository {
  const repository = repositoryAt(emptyFolder('tstriton-repository-'));
  for (const [file, content] of Object.entries(files)) repository.write(file, content);
  return repository;
}

/** A module that adds a number to what it gets; its text is a state of the model that no other number has. */
export function addingModule(added: number, config = '{ maxBatchSize: 8 }'): string {
  return `export default {
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: ${config},
  inferFunc: (requests) => requests.map(({ inputs: { x } }) => ({ y: x.data.map((value) => value + ${added}) })),
};
`;
}

/** The lines of the repository's index, as text. */
export async function index(http: string): Promise<string[]> {
  const [, models] = await callJson(`${http}/v2/repository/index`, {});
  return (models as Record<string, string>[]).map(({ name, version = '', state = '', reason = '' }) =>
    `${name}:${version} ${state} ${reason}`.trim(),
  );
}

/** What a model that adds a number answers for 0. */
export async function added(http: string, model: string): Promise<unknown> {
  const { status, outputs, error } = await inferJson(http, model, [
    { name: 'x', datatype: 'FP32', shape: [1, 1], data: [0] },
  ]);
  return status === 200 ? outputs[0]!.data[0] : error;
}
