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
  const scored: ScoredCase[] = []
  for (const document of readDocuments(file)) {
    const { tests = {}, zonedata = {} } = document as { tests?: Record<string, SpfCase>; zonedata?: Zone }
    for (const [name, each] of Object.entries(tests)) scored.push(await scoreCase(name, each, zonedata))
  }
  return scored
}

async function scoreCase(name: string, { helo, host, mailfrom, result }: SpfCase, zone: Zone): Promise<ScoredCase> {
  const sleep = (ms: number, signal?: AbortSignal) => delay(ms, undefined, signal && { signal }).catch(() => undefined)
  const dns = createMailDns({ now: () => Date.now(), sleep, resolveDns: answerFrom(zone) }, limits)
  const envelope = { from: mailfrom, to: [], ip: host, helo }
  const check = await checkSpf(envelope, { budget: dns.openBudget(), mta: 'mail.receiver.test', timeoutMs: 15_000 })
  const expected = [result].flat()
  return { name, isRight: expected.includes(check?.result ?? ''), note: `${check?.result} instead of ${expected}` }
}

function answerFrom(zone: Zone): (name: string, type: string) => Promise<unknown> {
  const names = new Map(Object.entries(zone).map(([name, entries]) => [name.toLowerCase(), entries]))
  return async function resolve(name, type, depth = 0): Promise<unknown> {
    const entries = names.get(name.toLowerCase().replace(/\.$/, ''))
    if (!entries) throw Object.assign(new Error('NXDOMAIN'), { code: 'ENOTFOUND' })
    const values = valuesOf(entries, type)
    if (values.length > 0) return values.map(value => recordOf(type, value))
    const alias = valuesOf(entries, 'CNAME')[0]
    if (alias && Number(depth) < 10)
      return (resolve as (...of: unknown[]) => unknown)(String(alias), type, Number(depth) + 1)
    if (entries.includes('TIMEOUT')) throw Object.assign(new Error('no answer'), { code: 'ETIMEOUT' })
    throw Object.assign(new Error('no data'), { code: 'ENODATA' })
  } as (name: string, type: string) => Promise<unknown>
}

/** Returns the values of a name. SPF records replace a missing TXT (the suites' own rule), and `NONE` means that there really is no TXT. */
function valuesOf(entries: readonly Entry[], type: string): readonly unknown[] {
  const of = (wanted: string) =>
    entries.flatMap(entry => (typeof entry === 'object' && wanted in entry ? [entry[wanted]] : []))
  const own = of(type)
  const values = own.length === 0 && type === 'TXT' ? of('SPF') : own
  return values.filter(value => value !== 'NONE')
}

function recordOf(type: string, value: unknown): unknown {
  if (type === 'TXT') return [value].flat().map(String)
  if (type !== 'MX') return String(value)
  const [priority, exchange] = value as [string, string]
  return { priority: Number(priority), exchange }
}
