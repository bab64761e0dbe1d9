export { alignTables, markdownToMailHtml, plainToMailHtml } from './mail-markdown.ts'
export { inlineToPostHtml, markdownToPostHtml } from './post-html.ts'
