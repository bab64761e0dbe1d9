export { alignTables } from './align-tables.ts'
export { markdownToMailHtml, plainToMailHtml } from './mail-html.ts'
