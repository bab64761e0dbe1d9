import type { DnsResolver, FetchAnswer, GuardedFetch, ReplayStore } from '@postern/core'
import { isJsonObject, Unavailable, Undeliverable } from '@postern/core'
import type { LookupPlatform } from '../platform/platform.ts'
import { nameFetch, nameQuestion } from '../platform/platform.ts'

/** A look-up that is not on record: what it would have said is not known any more. */
export class LookupMissing extends Unavailable {}

/** Answers what was looked up with what it said at `at` (ms); nothing goes out. */
export function createPastLookups(store: Pick<ReplayStore, 'findLookup'>, at: number): LookupPlatform {
  const find = async (key: string) => {
    const answer = await store.findLookup(key, at)
    if (isJsonObject(answer)) return answer
    throw new LookupMissing(`there is no record of what "${key}" said then`)
  }
  const fetch: GuardedFetch = async (url, request) => {
    const key = nameFetch(url, request)
    if (key === undefined) throw new Undeliverable('a replay sends nothing')
    return restoreAnswer(await find(key))
  }
  const resolveDns: DnsResolver = async (name, type) => {
    const { records, code, message } = await find(nameQuestion(name, type))
    if (records !== undefined) return records
    throw Object.assign(new Error(String(message)), { code })
  }
  return { fetch, resolveDns }
}

function restoreAnswer({ status, headers, url, body, error, message }: Readonly<Record<string, unknown>>): FetchAnswer {
  if (error === 'Unavailable') throw new Unavailable(String(message))
  if (error !== undefined) throw new Undeliverable(String(message))
  return {
    status: Number(status),
    headers: new Headers(headers as Record<string, string>),
    url: String(url),
    body: new Uint8Array(Buffer.from(String(body), 'base64')),
  }
}
