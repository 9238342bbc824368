import { describe, expect, it } from 'vitest';

import { TritonError, TritonUnrecoverableError } from '../errors.js';
import { runSetup, type Setup, type SetupContext } from './run-setup.js';

const CONTEXT = { modelName: 'm', instance: 2 } as SetupContext;
const MODULE = 'file:///models/m.js';

const failing = (thrown: unknown): Setup => {
  return () => {
    throw thrown;
  };
};

describe('runSetup', () => {
  it('does nothing where there is none, and hands the context to the one that is there', async () => {
    const seen: unknown[] = [];
    await runSetup(undefined, CONTEXT);
    await runSetup(function (this: unknown, context) {
      seen.push(this, context);
    }, CONTEXT);
    expect(seen).toEqual([undefined, CONTEXT]);
  });

  it.each<[unknown, string | undefined, object]>([
    [new Error('no weights'), undefined, { code: 'INTERNAL', message: "setup of model 'm' failed: no weights" }],
    [new Error('no weights'), MODULE, { message: "setup of instance 2 of model 'm' (m.js) failed: no weights" }],
    [
      new TritonError('UNAVAILABLE', 'no device'),
      undefined,
      { name: 'TritonError', code: 'UNAVAILABLE', message: "setup of model 'm' failed: no device" },
    ],
    [
      new TritonUnrecoverableError('no device'),
      undefined,
      { name: 'TritonUnrecoverableError', message: "setup of model 'm' failed: no device" },
    ],
  ])('fails with %o (module %o)', async (thrown, module, expected) => {
    await expect(runSetup(failing(thrown), CONTEXT, module)).rejects.toMatchObject(expected);
    await expect(runSetup(async () => Promise.reject(thrown as Error), CONTEXT, module)).rejects.toMatchObject(
      expected,
    );
  });

  it('leaves a TritonError alone that names the model itself', async () => {
    const told = new TritonError('UNAVAILABLE', "model 'm' has no weights");
    await expect(runSetup(failing(told), CONTEXT, MODULE)).rejects.toBe(told);
  });

  it('keeps what was thrown, or its cause, as the cause', async () => {
    const thrown = new RangeError('no weights');
    await expect(runSetup(failing(thrown), CONTEXT)).rejects.toMatchObject({ cause: thrown });
    const told = new TritonError('UNAVAILABLE', 'no device', { cause: thrown });
    await expect(runSetup(failing(told), CONTEXT)).rejects.toMatchObject({ cause: thrown });
    const alone = new TritonError('UNAVAILABLE', 'no device');
    await expect(runSetup(failing(alone), CONTEXT)).rejects.toMatchObject({ cause: alone });
  });

  it('says that a method lost its object', async () => {
    class Model {
      readonly path = 'weights.bin';
      load() {
        void this.path.length;
      }
    }
    await expect(runSetup(new Model().load, CONTEXT)).rejects.toThrow(
      "setup of model 'm' failed: Cannot read properties of undefined (reading 'path'): method 'load' lost its object: it was called with 'this' undefined. Give (context) => object.load(context)",
    );
  });
});
