// Loads whose files are large: a client may send a model as large as an inference, over both wires and in both thread modes. The
// files of different loads stay apart when they come at once.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, describe, it, onTestFinished, vi } from 'vitest';

import { ServerClient } from 'tstriton/client';
import { callJson } from '../support/grpc-service.js';
import { index, modelRepository } from '../support/model-repository.js';
import { addModel } from '../support/onnx-builder.js';
import { startServer } from '../support/start-server.js';
import { emptyFolder } from '../support/temporary-files.js';

const MIB = 1 << 20;
const CONFIG = '{"backend": "onnxruntime"}';

/** Bytes that differ from place to place, and from one seed to the next. */
function weights(seed: number, bytes: number): Buffer {
  const content = Buffer.allocUnsafe(bytes);
  for (let i = 0; i < bytes; i++) content[i] = (i * (2 * seed + 1) + (i >>> 8)) & 255;
  return content;
}

describe.each([{ serverThread: true }, { serverThread: false }])(
  'files of megabytes that clients bring, %o',
  (thread) => {
    it('arrive whole over both wires, for several models at once', async () => {
      const temporary = emptyFolder('tstriton-test-');
      vi.stubEnv('TMPDIR', temporary);
      onTestFinished(() => void vi.unstubAllEnvs());
      await using server = await startServer(() => undefined, {
        ...thread,
        modelRepository: modelRepository().path,
        modelControlMode: 'explicit',
        restrictedEndpoints: [],
      });
      await using http = new ServerClient(server.http);
      await using grpc = new ServerClient(server.grpc);
      const clients = { http1: http, http2: http, grpc1: grpc, grpc2: grpc };
      const contents = Object.keys(clients).map((name, seed) => [name, weights(seed, 3 * MIB + 1001 * seed)] as const);
      await Promise.all(
        contents.map(([name, content]) =>
          clients[name as keyof typeof clients].loadModel(name, {
            config: CONFIG,
            files: { '1/model.onnx': addModel(), '1/weights.bin': content, '1/small.bin': weights(9, 10) },
          }),
        ),
      );
      expect((await index(server.http)).sort()).toEqual([
        'grpc1:1 READY',
        'grpc2:1 READY',
        'http1:1 READY',
        'http2:1 READY',
      ]);
      const folders = readdirSync(temporary).filter((name) => name.startsWith('tstriton-model-'));
      const written = new Map(
        folders.map((folder) => {
          const [name = ''] = readdirSync(join(temporary, folder));
          return [name, join(temporary, folder, name, '1')];
        }),
      );
      for (const [name, content] of contents) {
        expect(readFileSync(join(written.get(name)!, 'weights.bin')).equals(content)).toBe(true);
        expect(readFileSync(join(written.get(name)!, 'small.bin')).equals(weights(9, 10))).toBe(true);
      }

      // A configuration is text that becomes objects, so it stays small.
      const [status, body] = await callJson(`${server.http}/v2/repository/models/http1/load`, {
        parameters: { config: ' '.repeat(MIB + 1) },
      });
      expect([status, body]).toEqual([
        400,
        { error: "expected a request with at most 1048576 bytes in the parameter 'config', got more" },
      ]);
      const refused = grpc.loadModel('grpc1', { config: ' '.repeat(MIB + 1) });
      await expect(refused).rejects.toThrow('at most 1048576 bytes of parameters');
    });
  },
);

it('keeps the files of the versions that serve when others of their load fail, and no more than these', async () => {
  const temporary = emptyFolder('tstriton-test-');
  vi.stubEnv('TMPDIR', temporary);
  onTestFinished(() => void vi.unstubAllEnvs());
  const folders = () => readdirSync(temporary).filter((name) => name.startsWith('tstriton-model-'));
  await using server = await startServer(() => undefined, {
    modelRepository: modelRepository().path,
    modelControlMode: 'explicit',
    restrictedEndpoints: [],
  });
  await using client = new ServerClient(server.http);
  const load = (files: Record<string, Uint8Array>) =>
    client.loadModel('m', { config: '{"backend": "onnxruntime", "version_policy": {"all": {}}}', files });
  const broken = addModel().subarray(0, 20);

  await load({ '1/model.onnx': addModel(), '2/model.onnx': addModel() });
  const [first] = folders();
  await expect(load({ '1/model.onnx': broken, '2/model.onnx': addModel(['n', 5]) })).rejects.toThrow('version 1');
  expect((await index(server.http)).sort()).toEqual(['m:1 READY', 'm:2 READY']);
  // Version 1 still serves the first load's files, version 2 those of the second.
  expect(folders()).toHaveLength(2);
  expect(folders()).toContain(first);

  await expect(load({ '1/model.onnx': broken })).rejects.toThrow('version 1');
  expect(folders()).toHaveLength(2);
  await load({ '1/model.onnx': addModel(['n', 6]) });
  expect(folders()).toHaveLength(1);
});
