// A process that binds the models to the server of another one: `node binder.mjs <address> <token> [threads]`.
import { RemoteTriton } from 'tstriton';

import { bindModels, bindModelsInThreads } from './models.mjs';

const [address = '', accessToken = '', place] = process.argv.slice(2);
const triton = new RemoteTriton(address, { accessToken });
const binder = /** @type {any} */ (triton);
if (place === 'threads') bindModelsInThreads(binder);
else bindModels(binder);
await triton.connect();
process.stdout.write('connected\n');
await triton.serve();
