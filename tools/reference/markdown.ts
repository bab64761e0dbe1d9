// Formats the pages and tables of the generated reference.
const notice =
  '<!-- Written by `npm run reference -- --write` from the code; a test compares. Change the code or tools/reference, not this file. -->'

/** Formats a page of docs/reference. */
export function formatPage(title: string, sections: readonly string[]): string {
  return `${[`# ${title}`, notice, ...sections].map(section => section.trim()).join('\n\n')}\n`
}

/** Formats a table whose cells are Markdown. */
export function formatMarkdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escapeCell).join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Formats any text as code. */
export function formatInlineCode(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``
}

function escapeCell(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').replace(/(?<!\\)\|/g, '\\|')
}
