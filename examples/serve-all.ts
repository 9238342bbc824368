// What `npm start` runs: serves the examples' models on the usual ports, asks each of them, tells what was asked and what
// came back, and goes on serving until Ctrl-C.
import { Triton, TritonError } from 'tstriton';

import { askAddSub } from './add-sub/client.js';
import { bindAddSub } from './add-sub/server.js';
import { askLanguageId, firstWords, type Answer } from './language-id/client.js';
import { bindLanguageId } from './language-id/server.js';
import { askLinear } from './linear/client.js';
import { bindLinear, IN_FEATURES } from './linear/server.js';

// The story says what the log would say of a start; warnings and errors are still logged.
const triton = new Triton({ logInfo: false });
bindAddSub(triton);
bindLinear(triton);
bindLanguageId(triton);

async function tell(): Promise<void> {
  const http = `http://localhost:${triton.httpPort}`;
  const grpc = `grpc://localhost:${triton.grpcPort}`;
  const metrics = `http://localhost:${triton.metricsPort}/metrics`;
  console.log(`Three models are served: AddSub, Linear and LanguageId.
  HTTP ${http}   gRPC ${grpc}   metrics ${metrics}
Open ${http}/ in a browser to see and try them.

AddSub adds two vectors and subtracts them. A client asked over HTTP and over gRPC:`);
  for (const url of [http, grpc]) await askAddSub(url);

  console.log(`
Linear multiplies rows of ${IN_FEATURES} features by a matrix. A client sent a batch of three rows over gRPC:`);
  await askLinear(grpc);

  console.log(`
LanguageId tells the language of a text. A client asked for each paragraph of the documents of this project,
and of texts in nine languages, all at the same time over HTTP. One answer of each language:`);
  const { paragraphs, documents, batching, answers } = await askLanguageId(http, { metricsUrl: metrics });
  for (const { label, score, text } of onePerLanguage(answers)) {
    console.log(`  ${label} ${score.toFixed(2)}  ${firstWords(text)}`);
  }
  console.log(`  ${paragraphs.right + documents.right} of ${paragraphs.total + documents.total} answers are right.
  ${batching!.inferences} requests ran in ${batching!.executions} executions: the batcher puts what waits into one call.

The server goes on until Ctrl-C. Try in another terminal:
  curl ${http}/v2/models/AddSub/infer -d '{"inputs":[{"name":"a","datatype":"FP32","shape":[1,2],"data":[1,2]},{"name":"b","datatype":"FP32","shape":[1,2],"data":[3,4]}]}'
  curl ${http}/v2/models/LanguageId/generate -d '{"text":"Wo ist der Bahnhof?"}'
  curl -s ${metrics} | grep nv_inference_exec_count
Then read examples/add-sub/server.ts, the smallest of the three, and docs/quick-start.md.`);
}

/** The first answer of each language, in the order of the languages. */
function onePerLanguage(answers: readonly Answer[]): Answer[] {
  const first = new Map(answers.toReversed().map((answer) => [answer.expected, answer]));
  return [...first.values()].sort((a, b) => a.expected.localeCompare(b.expected));
}

async function tellOrStop(): Promise<void> {
  try {
    await triton.ready();
    await tell();
  } catch (error) {
    // The server ends or did not start, which takes away what the clients ask: `serve()` tells of that.
    if (!triton.isReady) return;
    await triton.stop();
    throw error;
  }
}

try {
  await Promise.all([triton.serve(), tellOrStop()]);
} catch (error) {
  if (!(error instanceof TritonError) || error.code !== 'UNAVAILABLE') throw error;
  console.error(error.message);
  console.error('Ports can be chosen by variables: TSTRITON_CONFIG_HTTP_PORT=0, …_GRPC_PORT=0, …_METRICS_PORT=0');
  process.exitCode = 1;
}
