import type { DnsResolver, Platform } from '@postern/core'
import type { MailLimits } from '../../config/limits.ts'

/** The questions one message may ask. */
export interface DnsBudget {
  readonly resolve: DnsResolver
  /** True once more was asked than allowed: whatever failed then is the message's doing, not DNS trouble. */
  isExhausted(): boolean
}

export interface MailDns {
  openBudget(): DnsBudget
  /** Of these names those whose TXT records are remembered. */
  listKnown(names: readonly string[]): ReadonlySet<string>
}

/**
 * The resolver hides the lifetimes of the records; these are short enough for everyone. An absence is soon checked
 * again.
 */
const [presentMs, absentMs, cacheEntries] = [30_000, 2_000, 2_000]
/** More than this in one answer is not meant for us. */
const [maxRecords, maxAnswerChars] = [100, 64 * 1024]

/** Questions in sequence share one time budget of so many timeouts, instead of one for each. */
const timeoutsPerBudget = 3

interface Cached {
  readonly answer: Promise<unknown>
  until: number
}

/**
 * The resolver as mail needs it: every question ends in time, answers are bounded and remembered for a minute, failures are
 * not. Errors carry `code`; `ENOTFOUND` and `ENODATA` mean absent, everything else means trouble.
 */
export function createMailDns(platform: Pick<Platform, 'resolveDns' | 'now' | 'sleep'>, limits: MailLimits): MailDns {
  const cache = new Map<string, Cached>()

  function ask(name: string, type: string): Promise<unknown> {
    const key = `${type} ${name.toLowerCase()}`
    const known = cache.get(key)
    if (known && known.until > platform.now()) return known.answer
    const answer = askOnce(platform, name, type, limits.dns_timeout_ms)
    const entry = { answer, until: platform.now() + presentMs }
    cache.delete(key)
    cache.set(key, entry)
    if (cache.size > cacheEntries) cache.delete(cache.keys().next().value ?? key)
    answer.catch(error => {
      if (isAbsence(error)) entry.until = platform.now() + absentMs
      else if (cache.get(key) === entry) cache.delete(key)
    })
    return answer
  }

  const isKnown = (name: string) => (cache.get(`TXT ${name.toLowerCase()}`)?.until ?? 0) > platform.now()
  return {
    listKnown: names => new Set(names.filter(isKnown)),
    openBudget() {
      let asked = 0
      const until = platform.now() + limits.dns_timeout_ms * timeoutsPerBudget
      return {
        isExhausted: () => asked > limits.dns_questions,
        async resolve(name, type) {
          asked += 1
          if (asked > limits.dns_questions) throw dnsError('EBUDGET', 'too many questions')
          if (platform.now() >= until) throw dnsError('ETIMEOUT', 'all questions together took too long')
          return ask(name, type)
        },
      }
    },
  }
}

function isAbsence(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: string }
  return code === 'ENOTFOUND' || code === 'ENODATA'
}

async function askOnce(
  { resolveDns, sleep }: Pick<Platform, 'resolveDns' | 'sleep'>,
  name: string,
  type: string,
  timeoutMs: number,
): Promise<unknown> {
  const done = new AbortController()
  const expire = async () => {
    await sleep(timeoutMs, done.signal)
    throw dnsError('ETIMEOUT', 'no answer in time')
  }
  try {
    return checkSize(await Promise.race([resolveDns(name, type), expire()]))
  } finally {
    done.abort()
  }
}

/** An answer of absurd size counts as none at all. */
function checkSize(answer: unknown): unknown {
  const records = Array.isArray(answer) ? answer : [answer]
  const chars = records.reduce<number>((sum, record) => sum + JSON.stringify(record ?? null).length, 0)
  if (records.length > maxRecords || chars > maxAnswerChars) throw dnsError('ENODATA', 'answer too large')
  return answer
}

function dnsError(code: string, message: string): Error & { readonly code: string } {
  return Object.assign(new Error(message), { code })
}
