// Converts Markdown to the HTML of fediverse posts, and to HTML and plain text for mail.
export { markdownToMailHtml, markdownToMailText, plainToMailHtml } from './mail-markdown.ts'
export { inlineToPostHtml, markdownToPostHtml } from './post-html.ts'
