import type {
  DnsResolver,
  FetchAnswer,
  FetchRequest,
  GuardedFetch,
  Json,
  Lookup,
  Platform,
  ReplayStore,
} from '@postern/core'
import { isJsonObject, parseJsonText, Unavailable, Undeliverable } from '@postern/core'

/** Longer documents are not kept, bytes: none that a proof needs is. */
const maxBytes = 48 * 1024
/** Of an answer's fields those that somebody reads. */
const keptFields = ['content-type', 'location', 'cache-control', 'link']

type Outside = Pick<Platform, 'fetch' | 'resolveDns'>
type NoteLookup = Pick<ReplayStore, 'noteLookup'>

/** Notes what is read of other hosts and of DNS, so that a message can be read again as the moment was then. */
export function noteLookups<Outer extends Outside & Pick<Platform, 'now'>>(platform: Outer, store: NoteLookup): Outer {
  const { fetch, resolveDns, now } = platform
  const note = (key: string, answer: Json | undefined, shown: Shown = {}) => {
    if (answer !== undefined) store.noteLookup({ key, at: now(), answer, ...shown })
  }
  async function notedFetch(key: string, url: string, request: FetchRequest | undefined): Promise<FetchAnswer> {
    try {
      const answer = await fetch(url, request)
      note(key, describeAnswer(answer), findShown(answer))
      return answer
    } catch (error) {
      note(key, describeFailure(error))
      throw error
    }
  }

  return {
    ...platform,
    // No promise of its own: deliveries pass here, too.
    fetch: (url, request) => {
      const key = nameFetch(url, request)
      return key === undefined ? fetch(url, request) : notedFetch(key, url, request)
    },
    resolveDns: async (name, type) => {
      const key = nameQuestion(name, type)
      try {
        const records = await resolveDns(name, type)
        note(key, { records: records as Json })
        return records
      } catch (error) {
        note(key, describeDnsFailure(error))
        throw error
      }
    },
  }
}

/** A look-up that is not on record: what it would have said is not known any more. */
export class LookupMissing extends Unavailable {}

/** Answers what was looked up with what it said at `at` (ms); nothing goes out. */
export function createPastLookups(store: Pick<ReplayStore, 'findLookup'>, at: number): Outside {
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

/** Undefined for a request that changes something, or that shows a credential: its answer is for who holds it. */
function nameFetch(url: string, { method = 'GET', headers = {} }: FetchRequest = {}): string | undefined {
  const fields = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  if (method !== 'GET' || 'authorization' in fields || 'cookie' in fields) return undefined
  return `GET ${fields.accept ?? '*/*'} ${url}`
}

function nameQuestion(name: string, type: string): string {
  return `DNS ${type.toUpperCase()} ${name.toLowerCase()}`
}

function describeAnswer({ status, headers, url, body }: FetchAnswer): Json | undefined {
  if (body.byteLength > maxBytes) return undefined
  const fields = keptFields.flatMap(name => {
    const value = headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return { status, headers: Object.fromEntries(fields), url, body: Buffer.from(body).toString('base64') }
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

/** A request that its caller broke off says nothing. */
function describeFailure(error: unknown): Json | undefined {
  if (error instanceof Unavailable) return { error: 'Unavailable', message: error.message }
  return error instanceof Undeliverable ? { error: 'Undeliverable', message: error.message } : undefined
}

function describeDnsFailure(error: unknown): Json | undefined {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return typeof code === 'string' ? { code, message: String(message) } : undefined
}

type Shown = Pick<Lookup, 'owner' | 'object'>

/** Whose document it is, and the post that it shows: an actor's own, a post or its activity, or the account that WebFinger names. */
function findShown({ headers, body }: FetchAnswer): Shown {
  if (!/json/i.test(headers.get('content-type') ?? '') || body.byteLength > maxBytes) return {}
  const document = tryParse(Buffer.from(body).toString())
  if (!isJsonObject(document)) return {}
  const posts = [document, document.object].filter(isJsonObject)
  const post = posts.find(({ attributedTo }) => findId(attributedTo) !== undefined)
  if (post) return withoutAbsent({ owner: findId(post.attributedTo), object: findId(post) })
  const { links, actor } = document
  const self = (Array.isArray(links) ? links : []).find(link => isJsonObject(link) && link.rel === 'self')
  return withoutAbsent({ owner: findId(isJsonObject(self) ? self.href : (actor ?? document)) })
}

/** Of a reference, an object, or the first of several. */
function findId(value: unknown): string | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value
  const id = isJsonObject(first) ? first.id : first
  return typeof id === 'string' ? id : undefined
}

function withoutAbsent({ owner, object }: Shown): Shown {
  return { ...(owner !== undefined && { owner }), ...(object !== undefined && { object }) }
}

function tryParse(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch {
    return undefined
  }
}
