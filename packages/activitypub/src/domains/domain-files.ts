// Reads files of blocked or allowed domains: Mastodon's export, or one domain a line.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Log } from '@postern/message'
import { ConfigError, toAsciiDomain } from '@postern/message'
import type { ActivityPubConfig } from '../config.ts'

/**
 * Returns the configuration with the domains from its list files added. Each file is read once. Paths are relative to the configuration file.
 * @throws AggregateError of ConfigErrors, one for each file that cannot be used
 */
export function readDomainLists(config: ActivityPubConfig, { baseDir, log }: DomainListDeps): ActivityPubConfig {
  const faults: ConfigError[] = []
  const readDomains = (use: DomainFileUse): readonly string[] =>
    config[`${use}_files`].flatMap((name, index) => {
      const key = `activitypub.${use}_files.${index}`
      try {
        const file = readDomainFile(name, { key, use, baseDir })
        logDomainFile(file, name, { key, log })
        return file.domains
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        faults.push(error)
        return []
      }
    })
  const block = [...config.block, ...readDomains('block')]
  const allow = [...config.allow, ...readDomains('allow')]
  if (faults.length > 0) throw new AggregateError(faults, 'The configuration has faults')
  return { ...config, block, allow }
}

interface DomainListDeps {
  readonly baseDir: string
  readonly log: Log
}

interface DomainFileOptions {
  readonly key: string
  readonly use: DomainFileUse
  readonly baseDir: string
}

function readDomainFile(name: string, { key, use, baseDir }: DomainFileOptions): DomainFile {
  const domainFile = parseDomainFile(readFileText(resolve(baseDir, name), name, key), use, ({ line, problem, fix }) => {
    throw new ConfigError(key, `"${name}", line ${line}: ${problem}`, fix)
  })
  if (use === 'allow' && domainFile.domains.length === 0) {
    throw new ConfigError(
      key,
      `"${name}" names no domain`,
      'Add one, or remove the file: an empty list allows everybody.',
    )
  }
  return domainFile
}

function readFileText(path: string, name: string, key: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
  } catch (cause) {
    throw new ConfigError(key, `the file "${name}" cannot be read as UTF-8 text`, 'Create it, or correct its path.', {
      cause,
    })
  }
}

const maxLoggedLines = 20

function logDomainFile(
  { hiddenLines: obfuscated, nonBlockingCount: nonBlocking, domains }: DomainFile,
  file: string,
  { key, log }: { readonly key: string; readonly log: Log },
): void {
  log.info({ key, file, domains: domains.length, milder: nonBlocking }, 'list of domains read')
  if (obfuscated.length === 0) return
  const details = { key, file, count: obfuscated.length, lines: obfuscated.slice(0, maxLoggedLines) }
  log.warn(details, 'domains hidden by asterisks are not blocked: nobody can tell which they are')
}

/** The content of a file of domains. */
interface DomainFile {
  readonly domains: readonly string[]
  /** The numbers of lines whose domain is partly masked (`exa***le.com`), so that it cannot be identified. */
  readonly hiddenLines: readonly number[]
  /** The number of rows that block nothing: `silence` and `noop`, which only change what people are shown. */
  readonly nonBlockingCount: number
}

interface DomainFileFault {
  readonly line: number
  readonly problem: string
  readonly fix: string
}

type Refuse = (fault: DomainFileFault) => never

type DomainFileUse = 'block' | 'allow'

/** The severities of Mastodon's domain blocks. The value is true if the severity blocks the domain. */
const severities: ReadonlyMap<string, boolean> = new Map([
  ['suspend', true],
  ['silence', false],
  ['limit', false],
  ['noop', false],
])

/** Parses Mastodon's export of domain blocks or allows (with its header), or one domain a line (`#` begins a comment). It is pure. */
function parseDomainFile(text: string, use: DomainFileUse, refuse: Refuse): DomainFile {
  const body = text.replace(/^\uFEFF/, '')
  const isExport = /^\s*"?#?domain"?\s*(,|\r|\n|$)/i.test(body)
  return isExport ? readExport(parseCsv(body, refuse), use, refuse) : collectDomains(readLines(body), refuse)
}

interface DomainEntry {
  readonly line: number
  readonly domain: string
}

function readLines(text: string): readonly DomainEntry[] {
  return text
    .split(/\r\n|\n|\r/)
    .map((content, index) => ({ line: index + 1, domain: content.replace(/(^|\s)#.*$/, '').trim() }))
    .filter(({ domain }) => domain !== '')
}

function readExport(csvRows: readonly CsvRow[], use: DomainFileUse, refuse: Refuse): DomainFile {
  const [header, ...dataRows] = csvRows.filter(({ cells }) => cells.some(cell => cell.trim() !== ''))
  const names = header?.cells.map(cell => cell.trim().toLowerCase().replace(/^#/, '')) ?? []
  const severityIndex = names.indexOf('severity')
  if (use === 'allow' && severityIndex >= 0) {
    const problem = 'it is a list of blocks: it has a column "severity"'
    refuse({ line: header?.line ?? 1, problem, fix: 'Name it under activitypub.block_files, or remove the column.' })
  }
  const rows = dataRows.map(({ line, cells }) => ({
    line,
    domain: cells[0]?.trim() ?? '',
    // If the column is absent, Mastodon suspends the domain.
    severity: cells[severityIndex]?.trim().toLowerCase() || 'suspend',
  }))
  const invalidRow = rows.find(({ severity }) => !severities.has(severity))
  if (invalidRow) {
    const fix = `Use one of ${[...severities.keys()].join(', ')}.`
    refuse({ line: invalidRow.line, problem: `"${invalidRow.severity}" is not a severity`, fix })
  }
  const blocks = rows.filter(({ severity }) => severities.get(severity))
  return collectDomains(blocks, refuse, rows.length - blocks.length)
}

function collectDomains(entries: readonly DomainEntry[], refuse: Refuse, nonBlockingCount = 0): DomainFile {
  const isHidden = ({ domain }: DomainEntry) => domain.includes('*')
  const domainEntries = entries
    .filter(entry => !isHidden(entry))
    .map(entry => ({ ...entry, ascii: toAsciiDomain(entry.domain) }))
  const invalidEntry = domainEntries.find(({ ascii }) => ascii === undefined)
  if (invalidEntry) {
    const fix = 'Correct or remove it. A list with further columns needs the header line that Mastodon exports.'
    refuse({ line: invalidEntry.line, problem: `"${invalidEntry.domain.slice(0, 80)}" is not a domain name`, fix })
  }
  return {
    domains: domainEntries.flatMap(({ ascii }) => ascii ?? []),
    hiddenLines: entries.filter(isHidden).map(({ line }) => line),
    nonBlockingCount,
  }
}

/** A row of a CSV file (RFC 4180) with the number of its first line. */
interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
}

const cellPattern = /(?:"([^"]*(?:""[^"]*)*)"|((?!")[^,\r\n]*))(,|\r\n|\n|\r|$)/y

/** Parses CSV. Quoted cells may contain commas, quotes and line breaks. It rejects a closing quote that is not at the end of a cell. */
function parseCsv(text: string, refuse: Refuse): readonly CsvRow[] {
  const rows: CsvRow[] = []
  let cells: string[] = []
  let line = 1
  let firstLine = 1
  let position = 0
  while (position < text.length || cells.length > 0) {
    cellPattern.lastIndex = position
    const match = cellPattern.exec(text)
    const fix = 'Correct it, or export the list again.'
    if (!match) return refuse({ line, problem: 'a quotation mark does not end', fix })
    const [matchedText, quotedText, plainText = '', separator] = match
    cells.push(quotedText === undefined ? plainText : quotedText.replaceAll('""', '"'))
    line += matchedText.match(/\r\n|\n|\r/g)?.length ?? 0
    position += matchedText.length
    if (separator === ',') continue
    rows.push({ line: firstLine, cells })
    cells = []
    firstLine = line
  }
  return rows
}
