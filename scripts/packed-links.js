// What becomes of the links of a document in the published package. Where npm shows the README there are no files beside
// it, so that its links to pages of the package lead to where the published package can be read. The other pages are
// read in the package, where relative links work. A link to what is not in the package is left out, its text stays.
import { dirname, join } from 'node:path/posix';

const LINK = /\[(?<text>(?:`[^`]*`|[^\]`])*)\]\((?<target>[^)\s]+)\)/g;
const CODE = /^```[\s\S]*?^```/gm;

/**
 * @param {string} markdown
 * @param {{ readonly page: string, readonly address: string, readonly isPacked: (path: string) => boolean }} where
 *   `page` is the document's path in the package, `address` where the package can be read.
 */
export function packedLinks(markdown, { page, address, isPacked }) {
  const blocks = markdown.match(CODE) ?? [];
  const proses = markdown.split(CODE).map((prose) =>
    prose.replaceAll(LINK, (link, text, target) => {
      if (/^([a-z]+:|#)/.test(target)) return link;
      const [path, anchor] = target.split('#');
      const packed = join(dirname(page), path);
      if (!isPacked(packed)) return text;
      if (page !== 'README.md') return link;
      return `[${text}](${address}/${packed}${anchor === undefined ? '' : `#${anchor}`})`;
    }),
  );
  return proses.map((prose, index) => prose + (blocks[index] ?? '')).join('');
}
