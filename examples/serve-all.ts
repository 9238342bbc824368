// What `npm start` runs: serves the examples' models on the usual ports, asks each of them over both protocols,
// prints the answers, and goes on serving until Ctrl-C.
import { Triton } from 'tstriton';

import { askAddSub } from './add-sub/client.js';
import { bindAddSub } from './add-sub/serve.js';
import { askLanguageId } from './language-id/client.js';
import { bindLanguageId } from './language-id/serve.js';
import { askLinear } from './linear/client.js';
import { bindLinear } from './linear/serve.js';

const triton = new Triton();
bindAddSub(triton);
bindLinear(triton);
bindLanguageId(triton);

async function ask(): Promise<void> {
  await triton.ready();
  const http = `http://localhost:${triton.httpPort}`;
  const grpc = `grpc://localhost:${triton.grpcPort}`;
  const metricsUrl = `http://localhost:${triton.metricsPort}/metrics`;
  for (const url of [http, grpc]) {
    await askAddSub(url);
    await askLinear(url);
  }
  console.log(`LanguageId over ${http}: the project's documents and paragraphs in nine languages`);
  await askLanguageId(http, { metricsUrl });
  console.log(`LanguageId over ${grpc}: the same once more`);
  await askLanguageId(grpc, { metricsUrl, write: () => undefined }).then(({ paragraphs, batching }) => {
    console.log(`  ${paragraphs.right}/${paragraphs.total} paragraphs right`);
    if (batching !== undefined) console.log(`  ${batching.inferences} requests in ${batching.executions} executions`);
  });
  console.log(`\nServing until Ctrl-C. Try:\n  curl ${http}/v2/models/AddSub`);
  console.log(
    `  curl ${http}/v2/models/AddSub/infer -d '{"inputs":[{"name":"a","datatype":"FP32","shape":[1,2],"data":[1,2]},` +
      `{"name":"b","datatype":"FP32","shape":[1,2],"data":[3,4]}]}'`,
  );
  console.log(`  curl ${metricsUrl}`);
}

async function askOrStop(): Promise<void> {
  try {
    await ask();
  } catch (error) {
    await triton.stop();
    throw error;
  }
}

await Promise.all([triton.serve(), askOrStop()]);
