// The files of the page that people open in a browser. The build puts them here (`scripts/build-page.js`), from the sources in
// `page/`. Sources that run without a build have no page.

/** By path. Each file is in base64 of its gzip. */
export const PAGE_FILES: Readonly<Record<string, string>> = {};
