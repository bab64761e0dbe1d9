// Runs openspf's suites for SPF.
import { setTimeout as delay } from 'node:timers/promises'
import { mailLimitsSchema } from '../../src/config/limits.ts'
import { createMailDns } from '../../src/policy/mail-dns.ts'
import { checkSpf } from '../../src/policy/spf.ts'
import { readDocuments } from './read-documents.ts'
import type { ScoredCase } from './score.ts'

type Entry = string | Readonly<Record<string, unknown>>
type Zone = Readonly<Record<string, readonly Entry[]>>

interface SpfCase {
  readonly helo: string
  readonly host: string
  readonly mailfrom: string
  readonly result: string | readonly string[]
}

const limits = mailLimitsSchema.parse({})

/** Scores openspf's suites for RFC 7208 and RFC 4408 with the gateway's own resolver and its budget. */
export async function scoreSpf(file: URL): Promise<readonly ScoredCase[]> {
  const cases: ScoredCase[] = []
  for (const document of readDocuments(file)) {
    const { tests = {}, zonedata = {} } = document as { tests?: Record<string, SpfCase>; zonedata?: Zone }
    for (const [name, spfCase] of Object.entries(tests)) cases.push(await scoreCase(name, spfCase, zonedata))
  }
  return cases
}

async function scoreCase(name: string, { helo, host, mailfrom, result }: SpfCase, zone: Zone): Promise<ScoredCase> {
  const sleep = (ms: number, signal?: AbortSignal) => delay(ms, undefined, signal && { signal }).catch(() => undefined)
  const dns = createMailDns({ now: () => Date.now(), sleep, resolveDns: createResolver(zone) }, limits)
  const envelope = { from: mailfrom, to: [], ip: host, helo }
  const check = await checkSpf(envelope, { budget: dns.openBudget(), mta: 'mail.receiver.test', timeoutMs: 15_000 })
  const expected = [result].flat()
  return { name, hasPassed: expected.includes(check?.result ?? ''), note: `${check?.result} instead of ${expected}` }
}

function createResolver(zone: Zone): (name: string, type: string) => Promise<unknown> {
  const names = new Map(Object.entries(zone).map(([name, entries]) => [name.toLowerCase(), entries]))
  return async function resolve(name, type, depth = 0): Promise<unknown> {
    const entries = names.get(name.toLowerCase().replace(/\.$/, ''))
    if (!entries) throw Object.assign(new Error('NXDOMAIN'), { code: 'ENOTFOUND' })
    const values = listValues(entries, type)
    if (values.length > 0) return values.map(value => formatRecord(type, value))
    const alias = listValues(entries, 'CNAME')[0]
    if (alias && Number(depth) < 10)
      return (resolve as (...of: unknown[]) => unknown)(String(alias), type, Number(depth) + 1)
    if (entries.includes('TIMEOUT')) throw Object.assign(new Error('no answer'), { code: 'ETIMEOUT' })
    throw Object.assign(new Error('no data'), { code: 'ENODATA' })
  } as (name: string, type: string) => Promise<unknown>
}

/**
 * Returns the values of a name. SPF records replace a missing TXT, by the suites' own rule. `NONE` means that the name
 * has no TXT.
 */
function listValues(entries: readonly Entry[], type: string): readonly unknown[] {
  const listByType = (wanted: string) =>
    entries.flatMap(entry => (typeof entry === 'object' && wanted in entry ? [entry[wanted]] : []))
  const exactValues = listByType(type)
  const values = exactValues.length === 0 && type === 'TXT' ? listByType('SPF') : exactValues
  return values.filter(value => value !== 'NONE')
}

function formatRecord(type: string, value: unknown): unknown {
  if (type === 'TXT') return [value].flat().map(String)
  if (type !== 'MX') return String(value)
  const [priority, exchange] = value as [string, string]
  return { priority: Number(priority), exchange }
}
