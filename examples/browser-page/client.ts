// Asks what the page asks, without a page.
//
//   node build/examples/browser-page/client.js http://localhost:8000 Wo ist der Bahnhof?
import { whenStarted } from '../when-started.js';
import { askLanguage } from './ask.js';

await whenStarted(import.meta.url, async () => {
  const [, , url = 'http://localhost:8000', ...words] = process.argv;
  console.log(await askLanguage(url, words.join(' ') || 'Wo ist der Bahnhof?'));
});
