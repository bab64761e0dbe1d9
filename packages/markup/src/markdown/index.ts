export { alignTables } from './align-tables.ts'
export { markdownToMailHtml, plainToMailHtml } from './mail-html.ts'
export { inlineToPostHtml, markdownToPostHtml } from './post-html.ts'
