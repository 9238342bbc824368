// The pages of the site: the documents of the repository under the paths that they have there, with links that lead to other
// pages. A link to a file that is no page of the site, such as source code, becomes its text.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path/posix';

const LINK = /(?<!!)\[(?<text>(?:`[^`]*`|[^\]`])*)\]\((?<target>[^)\s]+)\)/g;
const CODE = /^```[\s\S]*?^```/gm;

/**
 * Where the site has each document of the repository.
 * @param {string} root
 * @returns {ReadonlyMap<string, string>}
 */
export function pagesOf(root) {
  const markdown = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  const examples = readdirSync(join(root, 'examples'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return new Map([
    ...markdown.map((name) => /** @type {const} */ ([`docs/${name}`, name === 'README.md' ? 'index.md' : name])),
    ['examples/README.md', 'examples/index.md'],
    ...examples.map(({ name }) => /** @type {const} */ ([`examples/${name}/README.md`, `examples/${name}.md`])),
    ['CHANGELOG.md', 'changelog.md'],
    ['SECURITY.md', 'security-policy.md'],
  ]);
}

/**
 * @param {string} markdown
 * @param {string} document its path in the repository
 * @param {ReadonlyMap<string, string>} pages
 */
export function withSiteLinks(markdown, document, pages) {
  const here = pages.get(document) ?? '';
  const code = markdown.match(CODE) ?? [];
  const prose = markdown.split(CODE).map((text) =>
    text.replaceAll(LINK, (link, label, target) => {
      if (/^([a-z]+:|#)/.test(target)) return link;
      const [path, anchor] = target.split('#');
      const named = join(dirname(document), path).replace(/\/$/, '');
      const page =
        pages.get(named) ?? pages.get(`${named}/README.md`) ?? (named === 'README.md' ? 'index.md' : undefined);
      if (page === undefined) return label;
      const way = relative(dirname(here), page);
      return `[${label}](${way.startsWith('.') ? way : `./${way}`}${anchor === undefined ? '' : `#${anchor}`})`;
    }),
  );
  return prose.map((text, index) => text + (code[index] ?? '')).join('');
}

/**
 * @param {string} root
 * @param {string} folder
 */
export function writePages(root, folder) {
  rmSync(folder, { recursive: true, force: true });
  const pages = pagesOf(root);
  for (const [document, page] of pages) {
    mkdirSync(dirname(join(folder, page)), { recursive: true });
    writeFileSync(join(folder, page), withSiteLinks(readFileSync(join(root, document), 'utf8'), document, pages));
  }
  for (const name of readdirSync(join(root, 'docs')).filter((file) => /\.(?:svg|png)$/.test(file))) {
    cpSync(join(root, 'docs', name), join(folder, name));
  }
}
