// `node walk.js [pictures]`: walks the site in build/site in a headless Chromium, whose path is in CHROMIUM. Every page that a link leads
// to has to load with its pictures, each link has to lead to a page and to a heading that are there, nothing may be asked of another
// host, and the search has to find a word. The exit code is 0 when all of it holds.
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

const SITE = fileURLToPath(new URL('../build/site', import.meta.url));
const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};
const PAGES_AT_ONCE = 3;

const server = createServer(({ url = '/' }, response) => {
  const path = join(SITE, decodeURIComponent(new URL(url, 'http://site').pathname));
  const file = path.endsWith('/') ? `${path}index.html` : path;
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return response.writeHead(404).end();
  response.setHeader(
    'content-type',
    TYPES[/** @type {keyof typeof TYPES} */ (extname(file))] ?? 'application/octet-stream',
  );
  return response.end(readFileSync(file));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
const origin = `http://127.0.0.1:${port}`;

const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
/** @type {string[]} */
const faults = [];
/** Pages by path, with the anchors that they have. @type {Map<string, ReadonlySet<string>>} */
const anchors = new Map();
/** Every link: where it stands and where it leads. @type {{ from: string, to: URL }[]} */
const links = [];
const waiting = ['/index.html'];
const known = new Set(waiting);

/** @param {import('playwright-core').Page} page */
function watch(page) {
  page.on('pageerror', (error) => faults.push(`${page.url()}: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`${page.url()}: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) {
      faults.push(`${page.url()} asks another host: ${request.url()}`);
    }
  });
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} path
 */
async function visit(page, path) {
  const answer = await page.goto(origin + path, { waitUntil: 'load' });
  if (answer?.status() !== 200) {
    faults.push(`${path}: ${answer?.status()}`);
    return;
  }
  const found = await page.evaluate(() => ({
    ids: Array.from(document.querySelectorAll('[id]'), ({ id }) => id),
    hrefs: Array.from(document.querySelectorAll('a[href]'), (link) => /** @type {HTMLAnchorElement} */ (link).href),
    broken: Array.from(document.images)
      .filter((image) => image.complete && image.naturalWidth === 0)
      .map(({ src }) => src),
    heading: document.querySelector('main h1')?.textContent ?? '',
  }));
  anchors.set(path, new Set(found.ids));
  faults.push(...found.broken.map((src) => `${path}: no picture ${src}`));
  if (found.heading === '') faults.push(`${path}: no heading`);
  for (const to of found.hrefs.map((href) => new URL(href)).filter((url) => url.origin === origin)) {
    if (to.pathname.endsWith('/')) to.pathname += 'index.html';
    links.push({ from: path, to });
    if (!known.has(to.pathname)) {
      known.add(to.pathname);
      waiting.push(to.pathname);
    }
  }
}

async function walk() {
  const pages = await Promise.all(Array.from({ length: PAGES_AT_ONCE }, () => context.newPage()));
  pages.forEach(watch);
  while (waiting.length > 0) {
    const next = waiting.splice(0, PAGES_AT_ONCE);
    await Promise.all(
      next.map((path, index) => visit(/** @type {import('playwright-core').Page} */ (pages[index]), path)),
    );
  }
  await Promise.all(pages.map((page) => page.close()));
}

/** Types into the search, and follows its first answer. @param {string} word */
async function search(word) {
  const page = await context.newPage();
  watch(page);
  await page.goto(`${origin}/index.html`, { waitUntil: 'load' });
  await page.locator('#local-search button').first().click();
  await page.locator('#localsearch-input').fill(word);
  const first = page.locator('#localsearch-list a').first();
  await first.click();
  await page.waitForURL((url) => !url.pathname.endsWith('/index.html') && url.pathname !== '/');
  await page.waitForFunction((wanted) => document.querySelector('main')?.textContent?.includes(wanted), word);
  const { pathname } = new URL(page.url());
  await page.close();
  return pathname;
}

try {
  await walk();
  for (const { from, to } of links) {
    const ids = anchors.get(to.pathname);
    const anchor = decodeURIComponent(to.hash.slice(1));
    if (ids !== undefined && anchor !== '' && !ids.has(anchor))
      faults.push(`${from}: no heading ${to.pathname}${to.hash}`);
  }
  for (const word of ['maxQueueDelayMicroseconds', 'streamSample', 'nv_inference_count']) {
    console.log(`search for ${word}: ${await search(word)}`);
  }
  const [pictures] = process.argv.slice(2);
  if (pictures !== undefined) {
    const page = await context.newPage();
    for (const name of ['index', 'quick-start', 'batching', 'examples/ocr', 'api/index']) {
      await page.goto(`${origin}/${name}.html`, { waitUntil: 'networkidle' });
      await page.screenshot({ path: join(pictures, `${name.replace('/', '-')}.png`) });
    }
  }
} catch (error) {
  faults.push(error instanceof Error ? error.message : String(error));
} finally {
  await browser.close();
  server.close();
}
console.log(`${anchors.size} pages, ${links.length} links, ${faults.length} faults`);
for (const fault of new Set(faults)) console.error(fault);
process.exitCode = faults.length === 0 && anchors.size > 100 ? 0 : 1;
