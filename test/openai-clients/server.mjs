// The models that the clients ask. Prints the port, and serves until its input ends.
import { chatModel, completionModel, embeddingModel, messageText, Triton } from '../../dist/index.js';

const triton = new Triton({ httpPort: 0, allowGrpc: false, allowMetrics: false, logInfo: false });
triton.bind(
  chatModel({
    modelName: 'Writer',
    async *chat({ messages, tools }) {
      const last = messages.at(-1);
      const text = messageText(last ?? {});
      const [tool] = tools;
      if (tool !== undefined && last?.role === 'user') {
        yield { toolCalls: [{ name: tool.function.name, arguments: { city: text } }] };
        return;
      }
      for (const token of text.split(/(?<= )/)) yield token;
    },
  }),
);
triton.bind(
  completionModel({
    modelName: 'Letters',
    *complete({ prompt }) {
      yield* prompt;
    },
  }),
);
triton.bind(embeddingModel({ modelName: 'Embed', embed: (texts) => texts.map(({ length }) => [length, 0.25]) }));
await triton.run();
process.stdout.write(`${triton.httpPort}\n`);
process.stdin.resume().once('end', () => void triton.stop());
