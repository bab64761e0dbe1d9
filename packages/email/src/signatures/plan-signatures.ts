// Chooses the signatures of a message to verify, and the names of their keys.

import { Rejection } from '@postern/message'
import type { MailLimits } from '../config/limits.ts'
import { parseSignature } from '../dkim/parse-signature.ts'
import type { HeaderBlock, HeaderField } from '../mail/header.ts'
import { couldSignFor } from './signature-field.ts'

/** The largest signature field, in octets. A 4096-bit signature over every known field needs half of this size. */
const maxSignatureOctets = 4096

/** The longest DNS name in characters (RFC 1035 §2.3.4). A resolver reports a longer name as a temporary error. */
const maxNameChars = 253

/**
 * Returns the signatures of a message to verify, and the names of their keys. The choice needs no cryptography and no
 * DNS queries. It includes all signatures if there are few. If there are many, it includes only the first signatures
 * that could speak for the author.
 * @throws Rejection if there are more than `refused_signatures`
 */
export function planSignatures(
  header: HeaderBlock,
  authorDomain: string,
  { limits, chain }: { readonly limits: MailLimits; readonly chain: ChainPlan },
) {
  const fields = header.fields.filter(({ name }) => name === 'dkim-signature')
  if (fields.length > limits.refused_signatures) {
    throw new Rejection('malformed', `Cannot verify mail: more than ${limits.refused_signatures} signatures`)
  }
  const hasTooMany = fields.length > limits.signatures
  const boundedFields = fields.filter(({ start, end }) => end - start <= maxSignatureOctets)
  const candidates = hasTooMany ? boundedFields.filter(field => couldSignFor(field, authorDomain)) : boundedFields
  const plannedFields = new Set(candidates.slice(0, limits.signatures))
  const isIgnored = (field: HeaderField) =>
    (chainFields.has(field.name) && !chain.isSealed) || (field.name === 'dkim-signature' && !plannedFields.has(field))
  const keyNames = new Set([...plannedFields].flatMap(listKeyName))
  return {
    keyNames: [...keyNames, ...chain.keyNames.filter(name => !keyNames.has(name))],
    ignoredRanges: header.fields.filter(isIgnored).map(({ start, end }) => [start, end] as const),
    flags: hasTooMany ? ['too_many_signatures'] : [],
  }
}

/** Returns the name of the key of a signature. It returns an empty list if the field alone shows that the signature cannot verify. */
function listKeyName(field: HeaderField): string[] {
  const { error, domain, selector } = parseSignature(field)
  const name = `${selector}._domainkey.${domain}`
  return error || name.length > maxNameChars ? [] : [name]
}

/** The part of an ARC chain that is verified, and the names of its keys. */
export interface ChainPlan {
  readonly keyNames: readonly string[]
  readonly isSealed: boolean
}

/**
 * The fields of ARC chains. No signature covers them (RFC 8617 §4.1.2), so those outside the verified part are removed.
 */
export const chainFields: ReadonlySet<string> = new Set([
  'arc-seal',
  'arc-message-signature',
  'arc-authentication-results',
])
