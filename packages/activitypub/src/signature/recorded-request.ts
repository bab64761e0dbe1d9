// Records the signed part of a request, and restores the request from the record for a replay.
import type { Json } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { RequestSignature, SignedRequest } from './request-signature.ts'

/** The header fields from which a signature is read, besides those that it covers. */
const recordedFields = ['signature', 'signature-input', 'digest', 'content-digest', 'date', 'content-type']
/** The header fields that are never recorded, because they contain credentials. */
const secretFields: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie'])

/** Records the signed part of a request without its body, so that it can be verified again: its target and the relevant header fields. */
export function recordRequest(
  { target, headers }: SignedRequest,
  { coveredNames }: Pick<RequestSignature, 'coveredNames'>,
): Json {
  const recordedHeaders: Record<string, string> = {}
  const recordHeader = (name: string) => {
    const value = headers.get(name)
    if (value !== null) recordedHeaders[name] = value
  }
  recordedFields.forEach(recordHeader)
  for (const component of coveredNames) {
    const name = component.toLowerCase()
    if (/^[a-z0-9-]+$/.test(name) && !secretFields.has(name)) recordHeader(name)
  }
  return { target, headers: recordedHeaders }
}

/** Restores the request from a record. Returns undefined if the value is not such a record. */
export function restoreRequest(record: Json, body: Uint8Array, origin: string): Request | undefined {
  if (!isJsonObject(record) || typeof record.target !== 'string' || !isJsonObject(record.headers)) return undefined
  const headers = Object.entries(record.headers).map(([name, value]) => [name, String(value)] as [string, string])
  return new Request(origin + record.target, { method: 'POST', headers, body: new Uint8Array(body) })
}
