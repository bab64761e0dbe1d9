import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogFields } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { activityPubConfigSchema } from '../config.ts'
import { readDomainLists } from './domain-files.ts'

const baseDir = mkdtempSync(join(tmpdir(), 'postern-domains-'))
const header = '#domain,#severity,#reject_media,#reject_reports,#public_comment,#obfuscate'

function read(activitypub: Record<string, unknown>, files: Record<string, string | Uint8Array> = {}) {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(baseDir, name), content)
  const lines: { readonly level: string; readonly fields: LogFields; readonly text: string }[] = []
  const keep = (level: string) => (fields: LogFields, text: string) => void lines.push({ level, fields, text })
  const log = { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') }
  return { ...readDomainLists(activityPubConfigSchema.parse(activitypub), { baseDir, log }), lines }
}

function faultsOf(activitypub: Record<string, unknown>, files: Record<string, string | Uint8Array> = {}): string[] {
  try {
    read(activitypub, files)
  } catch (error) {
    return (error as AggregateError).errors.map(fault => (fault as Error).message)
  }
  throw new Error('the lists were accepted')
}

describe('readDomainLists()', () => {
  test('reads Mastodon’s export and blocks only suspended domains', () => {
    const rows = [
      header,
      'evil.test,suspend,FALSE,FALSE,"spam, scams\nand ""worse""",FALSE',
      'loud.test,silence,TRUE,FALSE,,FALSE',
      'known.test,noop,FALSE,TRUE,,FALSE',
      'GØD.test.,SUSPEND,FALSE,FALSE,,FALSE',
      '',
    ]
    const { block } = read({ block: ['own.test'], block_files: ['blocks.csv'] }, { 'blocks.csv': rows.join('\r\n') })
    expect(block).toEqual(['own.test', 'evil.test', 'xn--gd-lka.test'])
  })

  test('reads one domain per line, with comments', () => {
    const text = '\uFEFF# ours\n\nevil.test # since May\n  sub.other.test\n'
    expect(read({ block_files: ['plain.txt'] }, { 'plain.txt': text }).block).toEqual(['evil.test', 'sub.other.test'])
  })

  test('reads an export of allowed domains, and third-party lists with a header', () => {
    expect(read({ allow_files: ['a.csv'] }, { 'a.csv': '#domain\ngood.test\n' }).allow).toEqual(['good.test'])
    const list = 'domain,public_comment,severity\nevil.test,"a, b",suspend\n'
    expect(read({ block_files: ['b.csv'] }, { 'b.csv': list }).block).toEqual(['evil.test'])
    expect(read({ block_files: ['c.csv'] }, { 'c.csv': 'domain,comment\nevil.test,x\n' }).block).toEqual(['evil.test'])
  })

  test('reports the hidden domains of an export, and blocks the others', () => {
    const text = `${header}\nexa***le.com,suspend,,,,TRUE\nevil.test,suspend,,,,FALSE\n*.wild.test,suspend,,,,FALSE\n`
    const { block, lines } = read({ block_files: ['hidden.csv'] }, { 'hidden.csv': text })
    expect(block).toEqual(['evil.test'])
    expect(lines).toContainEqual({
      level: 'warn',
      fields: { key: 'activitypub.block_files.0', file: 'hidden.csv', count: 2, lines: [2, 4] },
      text: 'domains hidden by asterisks are not blocked: nobody can tell which they are',
    })
  })

  test('reads 50 000 rows quickly', () => {
    const rows = Array.from({ length: 50_000 }, (_, at) => `host-${at}.example,suspend,FALSE,FALSE,,FALSE`)
    const text = [header, ...rows].join('\n')
    const before = process.threadCpuUsage()
    expect(read({ block_files: ['many.csv'] }, { 'many.csv': text }).block).toHaveLength(50_000)
    expect(process.threadCpuUsage(before).user).toBeLessThan(3_000_000)
  })

  test.each<[string, string | Uint8Array, string]>([
    [
      'a line that is no domain',
      'good.test\nnot a domain\n',
      'line 2: "not a domain" is not a domain name. Correct or remove it. A list with further columns needs the header line that Mastodon exports.',
    ],
    [
      'a row after a comment of several lines',
      `${header}\na.test,suspend,,,"x\ny",\nb,suspend,,,,`,
      'line 4: "b" is not a',
    ],
    ['columns without their header', 'evil.test,suspend\n', 'line 1: "evil.test,suspend" is not a domain name.'],
    [
      'an unknown severity',
      `${header}\nevil.test,banish,,,,\n`,
      'line 2: "banish" is not a severity. Use one of suspend, silence, limit, noop.',
    ],
    [
      'an open quotation mark',
      `${header}\nevil.test,suspend,,,"open\n`,
      'line 2: a quotation mark does not end. Correct it, or export the list again.',
    ],
  ])('names key, file and line of %s', (_, content, problem) => {
    const [fault, ...others] = faultsOf(
      { block_files: ['none.txt', 'bad.csv'] },
      { 'none.txt': '', 'bad.csv': content },
    )
    expect(fault).toContain(`activitypub.block_files.1: "bad.csv", ${problem}`)
    expect(others).toEqual([])
  })

  test('names every file that it cannot read', () => {
    expect(
      faultsOf({ block_files: ['nowhere.csv'], allow_files: ['bytes'] }, { bytes: new Uint8Array([255, 254]) }),
    ).toEqual([
      'activitypub.block_files.0: the file "nowhere.csv" cannot be read as UTF-8 text. Create it, or correct its path.',
      'activitypub.allow_files.0: the file "bytes" cannot be read as UTF-8 text. Create it, or correct its path.',
    ])
  })

  test('refuses an allow list that allows everybody, and a block list as an allow list', () => {
    expect(faultsOf({ allow_files: ['empty.txt'] }, { 'empty.txt': '# nobody yet\n' })).toEqual([
      'activitypub.allow_files.0: "empty.txt" names no domain. Add one, or remove the file: an empty list allows everybody.',
    ])
    expect(faultsOf({ allow_files: ['blocks.csv'] }, { 'blocks.csv': `${header}\nevil.test,suspend,,,,\n` })).toEqual([
      'activitypub.allow_files.0: "blocks.csv", line 1: it is a list of blocks: it has a column "severity". Name it under activitypub.block_files, or remove the column.',
    ])
  })
})
