// A large language model at the OpenAI API, with node-llama-cpp: its tokens are streamed as they come. Needs the package, and a model
// file in GGUF.
//
//   npm install node-llama-cpp
//   node build/examples/node-llama-cpp/server.js model.gguf
import { existsSync } from 'node:fs';

import { chatModel, messageText, Triton, TritonError } from 'tstriton';

import { whenStarted } from '../when-started.js';

/** What the example uses of the package. It is not a dependency of this repository, so its own types are not here. */
export interface Llama {
  readonly getLlama: () => Promise<{ loadModel(options: { modelPath: string }): Promise<LlamaModel> }>;
  readonly LlamaChatSession: new (options: { contextSequence: unknown }) => LlamaSession;
}
interface LlamaModel {
  createContext(): Promise<{ getSequence(): { dispose(): void } }>;
}
interface LlamaSession {
  prompt(
    text: string,
    options: {
      temperature?: number;
      maxTokens?: number;
      signal: AbortSignal;
      stopOnAbortSignal: boolean;
      onTextChunk(text: string): void;
    },
  ): Promise<string>;
}

export async function bindLlama(
  triton: Triton,
  { getLlama, LlamaChatSession }: Llama,
  modelPath: string,
): Promise<void> {
  const model = await (await getLlama()).loadModel({ modelPath });
  const llama = await model.createContext();
  triton.bind(
    chatModel({
      modelName: 'Llama',
      // A context has one sequence here: one chat at a time, the others wait in the queue.
      async *chat({ messages, temperature, maxTokens }, { signal }) {
        const sequence = llama.getSequence();
        try {
          const session = new LlamaChatSession({ contextSequence: sequence });
          const chunks: string[] = [];
          let wake = (): void => undefined;
          let isOver = false;
          const ended = session
            .prompt(messages.map(messageText).join('\n'), {
              ...(temperature === undefined ? {} : { temperature }),
              ...(maxTokens === undefined ? {} : { maxTokens }),
              signal,
              stopOnAbortSignal: true,
              onTextChunk: (text) => {
                chunks.push(text);
                wake();
              },
            })
            .finally(() => {
              isOver = true;
              wake();
            });
          while (!isOver || chunks.length > 0) {
            if (chunks.length === 0) await new Promise<void>((resolve) => (wake = resolve));
            yield* chunks.splice(0);
          }
          await ended;
        } finally {
          sequence.dispose();
        }
      },
    }),
  );
}

await whenStarted(import.meta.url, async () => {
  const [, , modelPath = 'model.gguf'] = process.argv;
  if (!existsSync(modelPath)) {
    throw new TritonError('NOT_FOUND', `there is no model file ${modelPath}; give the path of a GGUF file`);
  }
  const name = 'node-llama-cpp';
  const triton = new Triton();
  await bindLlama(triton, (await import(name)) as Llama, modelPath);
  await triton.serve();
});
