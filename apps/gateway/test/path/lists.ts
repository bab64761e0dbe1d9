// Reads and corrects the lists of files that run for one message.
import { posix } from 'node:path'

const entry = /^- `([^`]+\.ts)`: \S/

/** Returns the files that the section under the heading `title` lists, as `- \`path\`: words`. */
export function readList(text: string, title: string): readonly string[] {
  return findSection(text.split('\n'), title).flatMap(line => pathOf(line) ?? [])
}

interface Correction {
  readonly title: string
  /** The files that must be listed. */
  readonly ran: readonly string[]
  describe(path: string): string
}

/**
 * Returns the purpose of a source file: the first sentence of its first line.
 * @throws Error when the file begins with something else
 */
export function readPurpose(path: string, source: string): string {
  const [, line = ''] = /^(?:#![^\n]*\n)?\/(?:\/|\*\*) ?([^\n]*)/.exec(source) ?? []
  const [sentence = ''] = line.replace(/\s*\*\/\s*$/, '').split(/(?<=\.)\s/)
  if (sentence === '') throw new Error(`${path} begins without a line that says what it is for`)
  return sentence
}

/** Adds its purpose to each listed file. */
export function describeLists(text: string, describe: (path: string) => string): string {
  return text
    .split('\n')
    .map(line => {
      const path = pathOf(line)
      return path === undefined ? line : `- \`${path}\`: ${describe(path)}`
    })
    .join('\n')
}

/** Removes lines, and inserts others after the last file of the same folder, or else of the same package. */
export function correctList(
  text: string,
  { title, ran, describe }: Correction,
): { readonly corrected: string; readonly changes: readonly string[] } {
  const pageLines = text.split('\n')
  const section = findSection(pageLines, title)
  const start = pageLines.indexOf(section[0] ?? '')
  const lines = section.filter(line => {
    const path = pathOf(line)
    return path === undefined || ran.includes(path)
  })
  const listed = section.flatMap(line => pathOf(line) ?? [])
  const missing = ran.filter(path => !listed.includes(path))
  for (const path of missing) lines.splice(findPosition(lines, path), 0, `- \`${path}\`: ${describe(path)}`)
  const extra = listed.filter(path => !ran.includes(path))
  return {
    corrected: [...pageLines.slice(0, start), ...lines, ...pageLines.slice(start + section.length)].join('\n'),
    changes: [...missing.map(path => `added ${path}`), ...extra.map(path => `took out ${path}`)],
  }
}

/** Returns the heading of a section and its lines. */
function findSection(lines: readonly string[], title: string): readonly string[] {
  const start = lines.findIndex(line => /^#{2,3} /.test(line) && line.replace(/^#+ /, '') === title)
  if (start < 0) throw new Error(`docs/reference/path-files.md has no heading "${title}"`)
  const length = lines.slice(start + 1).findIndex(line => /^#{1,3} /.test(line))
  return lines.slice(start, length < 0 ? undefined : start + 1 + length)
}

const pathOf = (line: string): string | undefined => line.match(entry)?.[1]

function findPosition(lines: readonly string[], path: string): number {
  const folder = posix.dirname(path)
  const [group, name] = path.split('/')
  const isBeside = (line: string) => posix.dirname(pathOf(line) ?? '') === folder
  const isNear = (line: string) => pathOf(line)?.startsWith(`${group}/${name}/`) === true
  const lastLine = [isBeside, isNear, (line: string) => pathOf(line) !== undefined]
    .map(matches => lines.findLastIndex(matches))
    .find(index => index >= 0)
  return (lastLine ?? lines.length - 1) + 1
}
