// Answers fetches and DNS queries of a replay with the answers that were recorded at the time.
import type { DnsResolver, FetchAnswer, GuardedFetch, System } from '@postern/message'
import { isJsonObject, Unavailable, Undeliverable } from '@postern/message'
import type { ReplayStore } from '@postern/pipeline'
import { dnsKeyOf, fetchKeyOf } from '@postern/pipeline'

/** Reports that no answer to a fetch or a DNS query is on record for that time. */
export class AnswerNotRecorded extends Unavailable {}

/** Answers fetches and DNS queries with the recorded answers of `instant` (ms). It sends nothing. */
export function openRecordedAnswers(
  store: Pick<ReplayStore, 'findLookup'>,
  instant: number,
): Pick<System, 'fetch' | 'resolveDns'> {
  const findAnswer = async (key: string) => {
    const answer = await store.findLookup(key, instant)
    if (isJsonObject(answer)) return answer
    throw new AnswerNotRecorded(`there is no record of the answer to "${key}" at that time`)
  }
  const fetch: GuardedFetch = async (url, request) => {
    const key = fetchKeyOf(url, request)
    if (key === undefined) throw new Undeliverable('a replay sends nothing')
    return restoreFetchAnswer(await findAnswer(key))
  }
  const resolveDns: DnsResolver = async (name, type) => {
    const { records, code, message } = await findAnswer(dnsKeyOf(name, type))
    if (records !== undefined) return records
    throw Object.assign(new Error(String(message)), { code })
  }
  return { fetch, resolveDns }
}

function restoreFetchAnswer({
  status,
  headers,
  url,
  body,
  error,
  message,
}: Readonly<Record<string, unknown>>): FetchAnswer {
  if (error === 'Unavailable') throw new Unavailable(String(message))
  if (error !== undefined) throw new Undeliverable(String(message))
  return {
    status: Number(status),
    headers: new Headers(headers as Record<string, string>),
    url: String(url),
    body: new Uint8Array(Buffer.from(String(body), 'base64')),
  }
}
