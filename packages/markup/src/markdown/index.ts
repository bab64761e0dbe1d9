export { alignTables, markdownToMailHtml, plainToMailHtml } from './mail-markdown.ts'
