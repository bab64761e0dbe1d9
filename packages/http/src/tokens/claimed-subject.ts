// Reads the unverified subject of a bearer token, for the operator's list of refusals.

import { isJsonObject, parseIfJson } from '@postern/message'
import type { HeaderFields } from '../request/socket-request.ts'

/** The longest part of a token that is read. */
const maxTokenChars = 8 * 1024

/** Returns the unverified subject of a bearer token, or undefined if the token is not a JWT. */
export function readClaimedSubject(headers: HeaderFields): string | undefined {
  const token = headers.get('authorization')?.slice(0, maxTokenChars)
  const [, payload] = /^(?:Bearer|DPoP) +[\w-]+\.([\w-]+)\./i.exec(token ?? '') ?? []
  const claims = payload && parseIfJson(Buffer.from(payload, 'base64url').toString())
  if (!isJsonObject(claims)) return undefined
  const { sub, client_id, iss } = claims
  const subject = [sub, client_id].find(claim => typeof claim === 'string')
  const issuer = typeof iss === 'string' ? ` of ${iss}` : ''
  return subject === undefined ? undefined : `${subject}${issuer}`
}
