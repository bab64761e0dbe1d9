import { toAsciiDomain } from '@postern/core'
import type { CsvRow } from './csv.ts'
import { parseCsv } from './csv.ts'

/** What a file of domains holds. */
export interface DomainFile {
  readonly domains: readonly string[]
  /** Lines whose domain is hidden in part (`exa***le.com`): nobody can tell which it is. */
  readonly obfuscated: readonly number[]
  /** How many rows are no blocks: `silence` and `noop`, which only change what people are shown. */
  readonly milder: number
}

interface DomainFileFault {
  readonly line: number
  readonly problem: string
  readonly fix: string
}

export type DomainFileUse = 'block' | 'allow'

/** What Mastodon does to a domain, and whether that keeps it out. */
const severities: ReadonlyMap<string, boolean> = new Map([
  ['suspend', true],
  ['silence', false],
  ['limit', false],
  ['noop', false],
])

/** Mastodon's export of domain blocks or allows (with its header), or one domain a line (`#` begins a comment). Pure. */
export function parseDomainFile(text: string, use: DomainFileUse): DomainFile | DomainFileFault {
  const body = text.replace(/^\uFEFF/, '')
  if (!/^\s*"?#?domain"?\s*(,|\r|\n|$)/i.test(body)) return collectDomains(readLines(body))
  const rows = parseCsv(body)
  if ('brokenAt' in rows) {
    return {
      line: rows.brokenAt,
      problem: 'a quotation mark does not end',
      fix: 'Correct it, or export the list again.',
    }
  }
  return readExport(rows, use)
}

interface Listed {
  readonly line: number
  readonly domain: string
}

function readLines(text: string): readonly Listed[] {
  return text
    .split(/\r\n|\n|\r/)
    .map((content, index) => ({ line: index + 1, domain: content.replace(/(^|\s)#.*$/, '').trim() }))
    .filter(({ domain }) => domain !== '')
}

function readExport(all: readonly CsvRow[], use: DomainFileUse): DomainFile | DomainFileFault {
  const [header, ...rest] = all.filter(({ cells }) => cells.some(cell => cell.trim() !== ''))
  const names = header?.cells.map(cell => cell.trim().toLowerCase().replace(/^#/, '')) ?? []
  const severityAt = names.indexOf('severity')
  if (use === 'allow' && severityAt >= 0) {
    const problem = 'it is a list of blocks: it has a column "severity"'
    return { line: header?.line ?? 1, problem, fix: 'Name it under activitypub.block_files, or remove the column.' }
  }
  const rows = rest.map(({ line, cells }) => ({
    line,
    domain: cells[0]?.trim() ?? '',
    // Without the column, Mastodon suspends.
    severity: cells[severityAt]?.trim().toLowerCase() || 'suspend',
  }))
  const odd = rows.find(({ severity }) => !severities.has(severity))
  if (odd) {
    const fix = `Use one of ${[...severities.keys()].join(', ')}.`
    return { line: odd.line, problem: `"${odd.severity}" is not a severity`, fix }
  }
  const blocks = rows.filter(({ severity }) => severities.get(severity))
  return collectDomains(blocks, rows.length - blocks.length)
}

function collectDomains(listed: readonly Listed[], milder = 0): DomainFile | DomainFileFault {
  const isHidden = ({ domain }: Listed) => domain.includes('*')
  const named = listed
    .filter(entry => !isHidden(entry))
    .map(entry => ({ ...entry, ascii: toAsciiDomain(entry.domain) }))
  const bad = named.find(({ ascii }) => ascii === undefined)
  if (bad) {
    const fix = 'Correct or remove it. A list with further columns needs the header line that Mastodon exports.'
    return { line: bad.line, problem: `"${bad.domain.slice(0, 80)}" is not a domain name`, fix }
  }
  return {
    domains: named.flatMap(({ ascii }) => ascii ?? []),
    obfuscated: listed.filter(isHidden).map(({ line }) => line),
    milder,
  }
}
