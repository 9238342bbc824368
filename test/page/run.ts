// The page in Chromium, as people use it: fills forms, infers, streams and stops, reads the charts, and lets axe look at it in light and
// dark, wide and narrow. `node test/page/run.mjs [folder for pictures]`, with Chromium's path in CHROMIUM. One line a check; the exit
// code is 0 when all are ok. The package has to be built.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createProxy, type Socket } from 'node:net';
import { createRequire } from 'node:module';
import { devNull } from 'node:os';
import { join } from 'node:path';

import { type BrowserContextOptions, chromium, type Page } from 'playwright-core';

import { Triton, type TritonConfig } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { bindModels } from './models.mjs';

const [pictures] = process.argv.slice(2);
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** What a page of a healthy machine does in a second. */
const WAIT_MS = 20_000;
const TOKEN = 'a token';

let failed = 0;

async function check(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
    process.stdout.write(`ok ${name}\n`);
  } catch (error) {
    failed++;
    process.stdout.write(`not ok ${name}\n    ${error instanceof Error ? error.message : String(error)}\n`);
  }
}

function expectEqual(got: unknown, expected: unknown): void {
  const [is, should] = [got, expected].map((value) => JSON.stringify(value));
  if (is !== should) throw new Error(`got ${is}, expected ${should}`);
}

async function serve(config: TritonConfig = {}) {
  const triton = new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0, logFile: devNull, ...config });
  bindModels(triton);
  await triton.run();
  return { triton, url: `http://localhost:${triton.httpPort}`, [Symbol.asyncDispose]: () => triton.stop() };
}

const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? 'chromium',
  args: [
    '--no-sandbox',
    '--disable-dev-shm-usage',
    '--use-fake-device-for-media-stream',
    '--use-fake-ui-for-media-stream',
  ],
});

/** Opens a page, and fails when it complains in the console: a policy that is broken says so there. */
async function withPage(
  url: string,
  use: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const context = await browser.newContext({ permissions: ['camera', 'microphone'], ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    if (/^https?:/.test(request.url()) && !request.url().startsWith(new URL(url).origin)) elsewhere.push(request.url());
  });
  try {
    await page.goto(url);
    await use(page);
    // The browser itself reports each answer with an error status.
    expectEqual([complaints.filter((text) => !text.startsWith('Failed to load resource')), elsewhere], [[], []]);
  } finally {
    await context.close();
  }
}

async function answerOf(page: Page, name: string): Promise<string> {
  const output = page
    .getByRole('region', { name: 'Answer' })
    .locator('.output', { has: page.getByRole('heading', { name, exact: true }) });
  return (await output.locator('pre').first().innerText()).trim();
}

function input(page: Page, name: string) {
  return page.getByRole('group', { name: `Input ${name}`, exact: true });
}

async function infer(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Infer', exact: true }).click();
  await page
    .getByRole('status')
    .filter({ hasText: /^version / })
    .waitFor();
}

/** Of 50 by 20 pixels. */
async function greyImage(page: Page): Promise<Buffer> {
  const bytes = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(50, 20);
    const context = canvas.getContext('2d');
    if (context === null) throw new Error('no canvas');
    context.fillStyle = '#808080';
    context.fillRect(0, 0, 50, 20);
    return Array.from(new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer()));
  });
  return Buffer.from(bytes);
}

async function expectAccessible(page: Page): Promise<void> {
  // The policy of the page allows no scripts of others; the browser's own way in is not bound by it.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => (globalThis as any).axe.run());
  expectEqual(
    violations.map(({ id, nodes }: any) => [id, nodes.map((node: any) => node.target.join(' '))]),
    [],
  );
}

{
  await using server = await serve();
  const { url } = server;

  await check('shows the models, and opens one by the keyboard', async () => {
    await withPage(url, async (page) => {
      await page.getByRole('link', { name: 'AddSub' }).first().waitFor();
      expectEqual(await page.getByRole('rowheader').getByRole('link').allInnerTexts(), [
        'AddSub', 'Detector', 'Digits', 'Echo', 'Endless', 'Grey', 'Left', 'Loud', 'Markup', 'Thumbnail', 'Total', 'Words', 'Writer',
      ]); // prettier-ignore
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'AddSub', level: 1 }).waitFor();
    });
  });

  await check('infers with typed numbers, by a key too, and says what is wrong with others', async () => {
    await withPage(`${url}/#/AddSub`, async (page) => {
      await input(page, 'a').getByRole('textbox').fill('1 2.5, -3');
      await input(page, 'b').getByRole('textbox').fill('[10, 20, 30]');
      await infer(page);
      expectEqual(
        [await answerOf(page, 'sum'), await answerOf(page, 'difference')],
        ['11  22.5  27', '-9  -17.5  -33'],
      );
      await input(page, 'a').getByRole('textbox').fill('1, two');
      await page.keyboard.press('Control+Enter');
      const alert = page.getByRole('alert');
      await alert.waitFor();
      expectEqual(await alert.innerText(), "a: 'two' is no number");
    });
  });

  await check('carries texts, wide integers, truth, halves, optional inputs and parameters exactly', async () => {
    await withPage(`${url}/#/Echo`, async (page) => {
      await input(page, 'text').getByRole('textbox').fill('é\n😀');
      await input(page, 'wide').getByRole('textbox').fill('9007199254740993, -9223372036854775808');
      await input(page, 'flag').getByRole('checkbox').uncheck();
      await input(page, 'half').getByRole('textbox').fill('1.5, -inf');
      await page.getByRole('button', { name: 'Add a parameter' }).click();
      await page.getByLabel('Name of parameter 1').fill('mode');
      await page.getByLabel('Value of parameter 1').fill('7');
      await infer(page);
      expectEqual(
        await Promise.all(['text', 'wide', 'flag', 'half', 'parameters'].map((name) => answerOf(page, name))),
        ['é\n😀', '9007199254740993  -9223372036854775808', 'false', '1.5  -Infinity', '{\n  "mode": 7\n}'],
      );
      expectEqual(await page.getByRole('heading', { name: 'more' }).count(), 0);
      await input(page, 'more').getByRole('checkbox').check();
      await infer(page);
      const cells = page.getByRole('region', { name: 'more' }).getByRole('cell');
      await cells.first().waitFor();
      expectEqual(await cells.allInnerTexts(), ['1', '2', '3', '4']);
    });
  });

  await check('scales an image, and draws the scores with their labels', async () => {
    await withPage(`${url}/#/Digits`, async (page) => {
      const buffer = await greyImage(page);
      await input(page, 'image')
        .locator('input[type=file]')
        .setInputFiles({ name: 'grey.png', mimeType: 'image/png', buffer });
      await page.getByRole('img', { name: 'The image that is sent: grey.png' }).waitFor();
      await infer(page);
      await page.getByRole('button', { name: 'Bars' }).click();
      const best = page.getByRole('table', { name: 'The highest values of scores' });
      expectEqual((await best.getByRole('rowheader').allInnerTexts()).slice(0, 3), ['digit 5', 'digit 6', 'digit 4']);
    });
  });

  await check('draws boxes on the image that was sent, and leaves out those below a score', async () => {
    await withPage(`${url}/#/Detector`, async (page) => {
      const file = { name: 'grey.png', mimeType: 'image/png', buffer: await greyImage(page) };
      await input(page, 'picture').locator('input[type=file]').setInputFiles(file);
      await infer(page);
      await page.getByRole('img', { name: '2 boxes of found on the image' }).waitFor();
      const drawn = page.locator('.boxes g');
      expectEqual(
        await drawn.evaluateAll((boxes) =>
          boxes.map((box) => [
            box.textContent.trim(),
            ...['x', 'y', 'width', 'height'].map((name) => Number(box.querySelector('rect')?.getAttribute(name))),
          ]),
        ),
        [
          ['circle 0.75', 28, 18, 4, 4],
          ['square 0.50', 5, 0, 10, 20],
        ],
      );
      await page.getByRole('slider').fill('0');
      await page.getByRole('img', { name: '3 boxes of found on the image' }).waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Numbers' }).click();
      expectEqual(await page.getByRole('region', { name: 'found' }).getByRole('row').count(), 3);
    });
  });

  await check('takes an image for pixels without an axis for colours', async () => {
    await withPage(`${url}/#/Grey`, async (page) => {
      const file = { name: 'grey.png', mimeType: 'image/png', buffer: await greyImage(page) };
      await input(page, 'picture').locator('input[type=file]').setInputFiles(file);
      await infer(page);
      expectEqual(await answerOf(page, 'sum'), String(128 * 8 * 16));
    });
  });

  await check('sends a file, takes a picture, records sound, and shows an image from the model', async () => {
    await withPage(`${url}/#/Thumbnail`, async (page) => {
      const file = { name: 'file.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(1234, 255) };
      await input(page, 'image').locator('input[type=file]').setInputFiles(file);
      await infer(page);
      expectEqual(await answerOf(page, 'size'), '1234');
      const image = page.getByRole('img', { name: 'An image from the model' });
      await image.waitFor();
      expectEqual(await image.evaluate((element) => (element as any).decode().then(() => true)), true);
      await page.getByRole('button', { name: 'Camera' }).click();
      await page.waitForFunction(() => (document.querySelector('video')?.videoWidth ?? 0) > 0);
      await page.getByRole('button', { name: 'Take a picture' }).click();
      await page.getByRole('img', { name: 'The image that is sent: camera.jpg' }).waitFor();
      await infer(page);
    });
    await withPage(`${url}/#/Loud`, async (page) => {
      await input(page, 'sound').getByRole('button', { name: 'Sound' }).click();
      await page.getByRole('button', { name: 'Microphone' }).click();
      await page.waitForTimeout(700);
      await page.getByRole('button', { name: 'Stop recording' }).click();
      await page.getByText('recording.').waitFor();
      await infer(page);
      const samples = Number(await answerOf(page, 'samples'));
      if (!(samples > 2000 && samples < 100_000)) throw new Error(`${samples} samples`);
    });
  });

  await check('shows a stream as it comes, and stops one at the server', async () => {
    await withPage(`${url}/#/Words`, async (page) => {
      await input(page, 'text').getByRole('textbox').fill('to be or not');
      await page.getByRole('button', { name: 'Stream' }).click();
      await page.getByRole('status').filter({ hasText: '4 responses in all' }).waitFor();
      expectEqual(await answerOf(page, 'word'), 'to be or not');
    });
    await withPage(`${url}/#/Endless`, async (page) => {
      await input(page, 'from').getByRole('textbox').fill('40');
      await page.getByRole('button', { name: 'Stream' }).click();
      await page.getByText('i 45').first().waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByRole('status').filter({ hasText: 'until it was stopped' }).waitFor();
      await using left = new ModelClient(url, 'Left');
      for (const began = Date.now(); Number((await left.inferSample({}))['count']?.data[0]) < 1;) {
        if (Date.now() - began > WAIT_MS) throw new Error('the callable was not told');
      }
      await page.getByRole('button', { name: 'Stream' }).click();
      await page.getByRole('status').filter({ hasText: 'so far' }).waitFor();
      await page.getByRole('link', { name: 'Words' }).click();
      await page.getByRole('heading', { name: 'Words', level: 1 }).waitFor();
      await page.getByRole('link', { name: 'Endless' }).click();
      await page.getByRole('status').filter({ hasText: 'until it was stopped' }).waitFor();
    });
  });

  await check('keeps what a stream gave before its connection broke', async () => {
    const sockets = new Set<Socket>();
    const proxy = createProxy((client) => {
      const upstream = connect(Number(new URL(url).port), '127.0.0.1');
      for (const socket of [client, upstream]) sockets.add(socket.on('error', () => undefined));
      client.pipe(upstream).pipe(client);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => proxy.once('listening', resolve));
    try {
      await withPage(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/#/Endless`, async (page) => {
        await page.getByRole('button', { name: 'Stream' }).click();
        await page.getByText('i 5').first().waitFor();
        for (const socket of sockets) socket.destroy();
        await page.getByRole('alert').filter({ hasText: 'the stream broke off' }).waitFor();
        await page.getByText('i 5').first().waitFor();
      });
    } finally {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    }
  });

  await check('keeps a sequence together, and begins the next one', async () => {
    await withPage(`${url}/#/Total`, async (page) => {
      const total = async (value: string, expected: string) => {
        await input(page, 'x').getByRole('textbox').fill(value);
        await page.getByRole('button', { name: 'Infer', exact: true }).click();
        await page.locator('.answer pre', { hasText: new RegExp(`^${expected}$`) }).waitFor();
      };
      await total('3', '3');
      expectEqual(await page.getByRole('checkbox', { name: 'start' }).isChecked(), false);
      await total('4', '7');
      await page.getByRole('checkbox', { name: 'end' }).check();
      await total('5', '12');
      expectEqual(await page.getByRole('textbox', { name: 'id' }).inputValue(), '2');
      await total('1', '1');
    });
  });

  await check('never takes what a model gives for markup', async () => {
    await withPage(`${url}/#/Markup`, async (page) => {
      const markup = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
      await input(page, 'text').getByRole('textbox').fill(markup);
      await infer(page);
      expectEqual(
        [await answerOf(page, 'text'), await page.locator('.answer img, .answer script').count()],
        [markup, 0],
      );
      expectEqual(await page.title(), 'Markup · TSTriton');
    });
  });

  await check('writes the request as code, for the OpenAI API too', async () => {
    await withPage(`${url}/#/Writer`, async (page) => {
      await page.getByRole('button', { name: 'As code' }).click();
      const code = page.getByRole('region', { name: 'The request as code' });
      const firsts: string[] = [];
      for (const language of ['curl', 'TypeScript', 'Python', 'OpenAI']) {
        await code.getByRole('button', { name: language }).click();
        firsts.push((await code.locator('pre').innerText()).split(/[\s(]/)[0] ?? '');
      }
      expectEqual(firsts, ['curl', 'import', 'from', 'import']);
      await page.getByRole('button', { name: 'Stream' }).click();
      await page.getByRole('status').filter({ hasText: 'in all' }).waitFor();
      expectEqual(await answerOf(page, 'text'), 'Hello');
    });
  });

  await check('keeps the code in step with the form, and marks the input that is wrong', async () => {
    await withPage(`${url}/#/AddSub`, async (page) => {
      const field = input(page, 'a').getByRole('textbox');
      const code = page.getByRole('region', { name: 'The request as code' });
      await page.getByRole('button', { name: 'As code' }).click();
      await field.fill('41.5, 2');
      await code.getByText('41.5, 2').waitFor();
      await field.fill('41.5, two');
      await code.getByText("a: 'two' is no number").waitFor();
      await page.getByRole('button', { name: 'Infer', exact: true }).click();
      await page.locator('[aria-invalid=true]').waitFor();
      await field.fill('1, 2, 4');
      await infer(page);
      expectEqual(await page.locator('[aria-invalid=true]').count(), 0);
    });
  });

  await check('draws what is going on', async () => {
    await withPage(`${url}/#/AddSub`, async (page) => {
      await using client = new ModelClient(url, 'AddSub');
      const requests = page.locator('figure', { hasText: 'Requests a second' });
      for (const began = Date.now(); ;) {
        await Promise.all(Array.from({ length: 20 }, (_, i) => client.inferSample({ a: [i], b: [2 * i] })));
        const [answered = '0'] = await requests.locator('b').allInnerTexts();
        if (Number.parseFloat(answered) * (answered.endsWith('k') ? 1000 : 1) > 10) break;
        if (Date.now() - began > WAIT_MS) throw new Error(`${answered} requests a second`);
      }
      const latency = await page.locator('figure', { hasText: 'Latency' }).locator('b').allInnerTexts();
      if (latency.length !== 3 || !latency.every((text) => /^[\d.]+ (µs|ms)$/.test(text)))
        throw new Error(String(latency));
      expectEqual(await page.locator('figure canvas').count(), 6);
    });
  });

  await check('says when the server is gone, and goes on when it is back', async () => {
    const other = await serve();
    const port = other.triton.httpPort ?? 0;
    await withPage(`${other.url}/#/Markup`, async (page) => {
      await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
      await other.triton.stop();
      await page.getByRole('status').filter({ hasText: 'the server does not answer' }).waitFor();
      await using _ = await serve({ httpPort: port });
      await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
      await infer(page);
    });
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      await check(`has nothing that axe finds, ${colorScheme} and ${width} wide`, async () => {
        const options = { colorScheme, viewport: { width, height: 860 } };
        for (const model of ['', 'AddSub', 'Echo', 'Digits', 'Total', 'Writer']) {
          await withPage(`${url}/#/${model}`, async (page) => {
            await page.getByRole('heading', { level: 1 }).waitFor();
            if (model !== '' && model !== 'Digits') await page.getByRole('button', { name: /^(Infer|Stream)$/ }).click();
            if (model !== '' && model !== 'Digits') await page.getByRole('button', { name: 'As code' }).click();
            if (model === 'AddSub') await page.getByText('Configuration').click();
            await page.locator('figure').first().waitFor();
            await expectAccessible(page);
            const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            if (overflow > 0) throw new Error(`'${model}' is ${overflow} pixels too wide`);
            if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${model || 'all'}-${colorScheme}-${width}.png`), fullPage: true });
          }, options); // prettier-ignore
        }
      });
    }
  }
}

await check('asks for the token, and keeps it out of everything that lasts', async () => {
  await using server = await serve({
    restrictedEndpoints: ['metadata', 'inference', 'statistics'],
    accessToken: TOKEN,
  });
  await withPage(`${server.url}/#/AddSub`, async (page) => {
    await page.getByLabel(/triton-access-token/).fill('wrong');
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByLabel(/triton-access-token/).fill(TOKEN);
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByRole('heading', { name: 'AddSub', level: 1 }).waitFor();
    await infer(page);
    await page.getByRole('button', { name: 'As code' }).click();
    const kept = await page.evaluate(() =>
      JSON.stringify([
        document.cookie,
        Object.entries(localStorage),
        Object.entries(sessionStorage),
        location.href,
        document.documentElement.outerHTML,
      ]),
    );
    expectEqual(kept.includes(TOKEN), false);
    await page.reload();
    await page.getByLabel(/triton-access-token/).waitFor();
  });
});

await check('shows the log to those who have the token for it, as text', async () => {
  for (const serverThread of [true, false]) {
    await using server = await serve({ serverThread, accessToken: TOKEN });
    await withPage(`${server.url}/`, async (page) => {
      await using client = new ModelClient(server.url, 'Markup');
      await client.inferSample({ text: ['early'] });
      await page.getByText('Log', { exact: true }).click();
      await page.getByLabel(/triton-access-token/).fill(TOKEN);
      await page.getByRole('button', { name: 'Use it' }).click();
      const log = page.getByRole('list', { name: 'The latest entries of the log' });
      await log.getByText("successfully loaded 'AddSub' version 1").waitFor();
      await log.getByText('<b>early</b>').waitFor();
      await client.inferSample({ text: ['later'] });
      await log.getByText('<b>later</b>').waitFor();
      expectEqual(await log.locator('b').count(), 0);
      await expectAccessible(page);
    });
  }
});

await check('says what to do where there are no models', async () => {
  const triton = new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0, logFile: devNull });
  await triton.run();
  try {
    await withPage(`http://localhost:${triton.httpPort}/`, async (page) => {
      await page.getByRole('heading', { name: 'No models yet' }).waitFor();
      await expectAccessible(page);
      bindModels(triton);
      await page.getByRole('link', { name: 'AddSub' }).first().waitFor();
    });
  } finally {
    await triton.stop();
  }
});

await check('keeps long names and descriptions within the page', async () => {
  await using server = await serve();
  const name = 'long-'.repeat(30);
  server.triton.bind({
    modelName: name,
    description: 'https://example.com/'.repeat(20),
    inputs: { ['input_'.repeat(30)]: { dtype: 'float32', shape: [1] } },
    outputs: { ['output_'.repeat(30)]: { dtype: 'float32', shape: [1] } },
    inferFunc: (requests) => requests.map(() => ({ ['output_'.repeat(30)]: Float32Array.of(1) })),
  });
  for (const width of [1280, 390]) {
    const options = { viewport: { width, height: 860 } };
    await withPage(`${server.url}/`, async (page) => {
      await page.getByRole('rowheader', { name }).waitFor();
      const state = page.getByRole('columnheader', { name: 'State' });
      if (width > 1000 && ((await state.boundingBox())?.x ?? width) > 900) throw new Error('the figures are out of sight');
      await page.goto(`${server.url}/#/${name}`);
      await infer(page);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      const over = await page.locator('form b').evaluate((label) => label.getBoundingClientRect().right - label.closest('form')!.getBoundingClientRect().right);
      if (overflow > 0 || over > 0) throw new Error(`${width}: ${overflow} and ${over} pixels too wide`);
    }, options); // prettier-ignore
  }
});

await check('is shown in no frame of another origin', async () => {
  await using server = await serve();
  const framing = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<!doctype html><iframe src="${server.url}/"></iframe>`);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => framing.once('listening', resolve));
  const { port } = framing.address() as AddressInfo;
  const page = await browser.newPage();
  const refused = page.waitForEvent('console', {
    predicate: (message) => message.text().includes('frame-ancestors'),
    timeout: WAIT_MS,
  });
  await page.goto(`http://127.0.0.1:${port}/`);
  await refused;
  await page.close();
  framing.closeAllConnections();
  framing.close();
});

await browser.close();
process.stdout.write(failed === 0 ? 'all ok\n' : `${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
