// Queries DNS for the checks of mail, with limits on queries and answers, and a short cache.

import { createExpiringMap } from '@postern/limits'
import type { System } from '@postern/message'
import type { MailLimits } from '../config/limits.ts'

export type MailDns = ReturnType<typeof createMailDns>

/** The DNS queries that one message may cause. */
export type DnsBudget = ReturnType<MailDns['openBudget']>

/**
 * The times for which the cache keeps records and absent names, ms, and the size of the cache. The resolver hides the
 * lifetimes of records, so these times are short enough for every record. An absent name is soon queried again.
 */
const [presentMs, absentMs, cacheEntries] = [30_000, 2_000, 2_000]

/** The largest answer, in records and in characters. A mail server never needs a larger answer. */
const [maxRecords, maxAnswerChars] = [100, 64 * 1024]

/**
 * The time budget for all queries of a message, as a multiple of the timeout. Without this budget, each query could
 * take one timeout.
 */
const timeoutsPerBudget = 3

/**
 * Creates the resolver for the checks of mail. Every query has a time limit, and the size of answers is limited. The
 * cache keeps answers for half a minute, and does not keep failures. Errors have a `code`: `ENOTFOUND` and `ENODATA`
 * mean that the name or record is absent, and every other code means that DNS failed.
 */
export function createMailDns(system: Pick<System, 'resolveDns' | 'now' | 'sleep'>, limits: MailLimits) {
  const cache = createExpiringMap<Promise<unknown>>(cacheEntries, () => system.now())

  function query(name: string, type: string): Promise<unknown> {
    const key = `${type} ${name.toLowerCase()}`
    const cachedAnswer = cache.get(key)
    if (cachedAnswer) return cachedAnswer
    const answer = queryWithTimeout(system, name, type, limits.dns_timeout_ms)
    cache.set(key, answer, presentMs)
    answer.catch(error => {
      if (cache.get(key) !== answer) return
      if (isAbsenceError(error)) cache.set(key, answer, absentMs)
      else cache.delete(key)
    })
    return answer
  }

  const isCached = (name: string) => cache.get(`TXT ${name.toLowerCase()}`) !== undefined
  return {
    /** Returns the names that have TXT records in the cache. */
    listCached: (names: readonly string[]): ReadonlySet<string> => new Set(names.filter(isCached)),
    openBudget() {
      let queryCount = 0
      const expiresAt = system.now() + limits.dns_timeout_ms * timeoutsPerBudget
      return {
        /**
         * Returns true after a message has caused more queries than it may. The message itself then causes further
         * failures, and not DNS.
         */
        isExhausted: () => queryCount > limits.dns_questions,
        async resolve(name: string, type: string): Promise<unknown> {
          queryCount += 1
          if (queryCount > limits.dns_questions) throw createDnsError('EBUDGET', 'too many queries')
          if (system.now() >= expiresAt) throw createDnsError('ETIMEOUT', 'all queries together took too long')
          return query(name, type)
        },
      }
    },
  }
}

function isAbsenceError(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: string }
  return code === 'ENOTFOUND' || code === 'ENODATA'
}

async function queryWithTimeout(
  { resolveDns, sleep }: Pick<System, 'resolveDns' | 'sleep'>,
  name: string,
  type: string,
  timeoutMs: number,
): Promise<unknown> {
  const cancellation = new AbortController()
  const expire = async () => {
    await sleep(timeoutMs, cancellation.signal)
    throw createDnsError('ETIMEOUT', 'no answer in time')
  }
  try {
    return checkSize(await Promise.race([resolveDns(name, type), expire()]))
  } finally {
    cancellation.abort()
  }
}

/** Refuses an answer above the size limits, as if the record were absent. */
function checkSize(answer: unknown): unknown {
  const records = Array.isArray(answer) ? answer : [answer]
  const chars = records.reduce<number>((sum, record) => sum + JSON.stringify(record ?? null).length, 0)
  if (records.length > maxRecords || chars > maxAnswerChars) throw createDnsError('ENODATA', 'answer too large')
  return answer
}

function createDnsError(code: string, message: string): Error & { readonly code: string } {
  return Object.assign(new Error(message), { code })
}
