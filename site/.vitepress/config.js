// The site: its pages in four groups, and a search that works offline.
import { readFileSync } from 'node:fs';

import { defineConfig } from 'vitepress';

const root = new URL('../../', import.meta.url);

/** The groups and pages of docs/README.md, which lists them all. */
function groups() {
  const list = readFileSync(new URL('docs/README.md', root), 'utf8');
  return list
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = '', ...lines] = section.split('\n');
      const items = lines.flatMap((line) => {
        const [, text, target] = /^- \[([^\]]+)\]\(([^)]+)\)/.exec(line) ?? [];
        return text === undefined || target === undefined ? [] : [{ text, link: linkTo(target) }];
      });
      if (title === 'Reference') items.push({ text: 'API: every exported name', link: '/api/' });
      return { text: title, collapsed: false, items };
    });
}

/** @param {string} target of a link in docs/README.md */
function linkTo(target) {
  if (target === '../examples/README.md') return '/examples/';
  if (target === '../CHANGELOG.md') return '/changelog';
  return `/${target.replace(/\.md$/, '')}`;
}

/** In the order of their table, from easy to hard. */
const examples = Array.from(
  readFileSync(new URL('examples/README.md', root), 'utf8').matchAll(/^\| \[([\w-]+)\]\(/gm),
  ([, name]) => ({ text: name, link: `/examples/${name}` }),
);

/** As in the repository, so that one link serves both: the rule of `test/docs/links.test.ts`. */
const slugify = (/** @type {string} */ heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

export default defineConfig({
  title: 'TSTriton',
  description: 'TypeScript functions as models, over the protocols of Triton',
  srcDir: 'pages',
  outDir: '../build/site',
  base: process.env.SITE_BASE ?? '/',
  lastUpdated: false,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // Braces are text here: types and JSON.
  markdown: { anchor: { slugify }, attrs: { disable: true } },
  // Addresses in examples, and no pages.
  ignoreDeadLinks: [/^https?:\/\/localhost/],
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        // A page explains what the reference of the API lists.
        miniSearch: { searchOptions: { boostDocument: (id) => (id.includes('/api/') ? 0.2 : 1) } },
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Examples', link: '/examples/' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: {
      '/': groups(),
      '/examples/': [{ text: 'Examples', link: '/examples/', items: examples }, ...groups().slice(0, 1)],
    },
  },
});
