import type { Json } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { RequestProof } from './request-proof.ts'
import type { SignedRequest } from './signed-request.ts'

/** What a signature is read from, besides what it covers. */
const alwaysKept = ['signature', 'signature-input', 'digest', 'content-digest', 'date', 'content-type']
/** They would let in whoever reads them. */
const neverKept: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie'])

/** The signed part of a request without its body, to verify it once more: its target and the fields that count. */
export function recordRequest({ target, headers }: SignedRequest, { covered }: Pick<RequestProof, 'covered'>): Json {
  const kept: Record<string, string> = {}
  const keep = (name: string) => {
    const value = headers.get(name)
    if (value !== null) kept[name] = value
  }
  alwaysKept.forEach(keep)
  for (const component of covered) {
    const name = component.toLowerCase()
    if (/^[a-z0-9-]+$/.test(name) && !neverKept.has(name)) keep(name)
  }
  return { target, headers: kept }
}

/** The request again. Undefined when it is no record of one. */
export function restoreRequest(record: Json, body: Uint8Array, origin: string): Request | undefined {
  if (!isJsonObject(record) || typeof record.target !== 'string' || !isJsonObject(record.headers)) return undefined
  const headers = Object.entries(record.headers).map(([name, value]) => [name, String(value)] as [string, string])
  return new Request(origin + record.target, { method: 'POST', headers, body: new Uint8Array(body) })
}
