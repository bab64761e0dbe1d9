// Verifies a payment receipt, a compact JWS, against the requirement that it pays.
import type { KeyObject } from 'node:crypto'
import { parseBoundedJson } from '@postern/http'
import { loadJose } from '@postern/http/tokens'
import type { RejectionCode, System } from '@postern/message'
import { isJsonObject, parseJsonText, Rejection } from '@postern/message'
import type { RequirementRecord, UsedReceipt } from '@postern/pipeline'
import type { CompactJWSHeaderParameters, FlattenedJWSInput } from 'jose'
import { z } from 'zod'

/** The `typ` of a receipt, which no other token of the provider has. */
export const receiptType = 'receipt+jwt'
const receiptAlgorithms = ['EdDSA', 'Ed25519', 'ES256', 'RS256'] as const

const maxReceiptChars = 8_192
/** The tolerated difference between clocks, ms. */
const clockToleranceMs = 60_000

const claimsSchema = z.object({
  iss: z.string(),
  aud: z.union([z.string(), z.array(z.string())]),
  requirement: z.string(),
  amount: z.string(),
  currency: z.string(),
  jti: z.string().min(1).max(256),
  iat: z.number(),
  exp: z.number(),
  reference: z.string().max(256).optional(),
})
type Claims = z.output<typeof claimsSchema>

export type FindKey = (header?: CompactJWSHeaderParameters, token?: FlattenedJWSInput) => Promise<CryptoKey | KeyObject>

interface ReceiptRules {
  readonly issuer: string
  /** The origin of the gateway. */
  readonly audience: string
  readonly findKey: FindKey
  readonly now: System['now']
}

/** Reads the requirement that a receipt names. The receipt is not verified. */
export function requirementOfReceipt(receipt: string): string | undefined {
  try {
    const payload = receipt.length <= maxReceiptChars ? (receipt.split('.')[1] ?? '') : ''
    const claims = parseJsonText(Buffer.from(payload, 'base64url').toString())
    return isJsonObject(claims) && typeof claims.requirement === 'string' ? claims.requirement : undefined
  } catch {
    return undefined
  }
}

/**
 * Verifies a receipt.
 * @throws Rejection whose violation names the wrong claim
 */
export async function verifyReceipt(
  receipt: string,
  requirement: RequirementRecord,
  rules: ReceiptRules,
): Promise<UsedReceipt> {
  const claims = readClaims(await verifySignature(receipt, rules))
  const failedCheck = claimChecks.find(({ fits: isFulfilled }) => !isFulfilled(claims, requirement, rules))
  if (failedCheck) throw refuseReceipt(failedCheck.code, failedCheck.claim, failedCheck.description)
  const { iss, jti, reference = jti } = claims
  return { key: JSON.stringify([iss, jti]), provider: iss, reference }
}

async function verifySignature(receipt: string, { findKey }: ReceiptRules): Promise<Uint8Array> {
  if (receipt.length > maxReceiptChars) throw refuseReceipt('too_large', 'receipt', 'is too long')
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(receipt)) throw refuseReceipt('malformed', 'receipt', 'is not a compact JWS')
  const { compactVerify, errors } = await loadJose()
  try {
    const { payload, protectedHeader } = await compactVerify(receipt, findKey, { algorithms: [...receiptAlgorithms] })
    if (protectedHeader.typ !== receiptType) throw refuseReceipt('unsupported', 'typ', `must be "${receiptType}"`)
    return payload
  } catch (cause) {
    if (cause instanceof Rejection) throw cause
    if (cause instanceof errors.JOSEAlgNotAllowed)
      throw refuseReceipt('unsupported', 'alg', 'is not one that counts', cause)
    throw refuseReceipt('signature_invalid', 'signature', "is not the payment provider's", cause)
  }
}

function readClaims(payload: Uint8Array): Claims {
  const parsed = claimsSchema.safeParse(parseBoundedJson(payload, { maxDepth: 4, label: 'receipt' }))
  if (parsed.success) return parsed.data
  throw refuseReceipt('malformed', parsed.error.issues[0]?.path.join('.') || 'receipt', 'is missing or not well formed')
}

interface ClaimCheck {
  readonly claim: keyof Claims
  readonly code: RejectionCode
  readonly description: string
  fits(claims: Claims, requirement: RequirementRecord, rules: ReceiptRules): boolean
}

const claimChecks: readonly ClaimCheck[] = [
  {
    claim: 'iss',
    code: 'signer_mismatch',
    description: 'is not the payment provider',
    fits: ({ iss }, _, { issuer }) => iss === issuer,
  },
  {
    claim: 'aud',
    code: 'forbidden',
    description: 'is another gateway',
    fits: ({ aud }, _, { audience }) => [aud].flat().includes(audience),
  },
  {
    claim: 'requirement',
    code: 'forbidden',
    description: 'is another requirement',
    fits: (claims, requirement) => claims.requirement === requirement.id,
  },
  {
    claim: 'amount',
    code: 'forbidden',
    description: 'is not what was required',
    fits: ({ amount }, { policy }) => normalizeAmount(amount) === normalizeAmount(String(policy.amount)),
  },
  {
    claim: 'currency',
    code: 'forbidden',
    description: 'is not the one that was required',
    fits: ({ currency }, { policy }) => currency === policy.currency,
  },
  {
    claim: 'iat',
    code: 'expired',
    description: 'is yet to come',
    fits: ({ iat }, _, { now }) => iat * 1000 <= now() + clockToleranceMs,
  },
  {
    claim: 'exp',
    code: 'expired',
    description: 'is over',
    fits: ({ exp }, _, { now }) => exp * 1000 > now() - clockToleranceMs,
  },
]

/** Normalizes an amount, because `4.50` and `4.5` are the same amount. A text that is no number equals no amount. */
function normalizeAmount(text: string): string {
  const [, integer, fraction = ''] = /^0*(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (integer === undefined) return `not a number: ${text}`
  const decimals = fraction.replace(/0+$/, '')
  return decimals ? `${integer}.${decimals}` : integer
}

function refuseReceipt(code: RejectionCode, field: string, description: string, cause?: unknown): Rejection {
  const violations = [{ field, description }]
  return new Rejection(code, `Cannot take receipt: ${field} ${description}`, { violations, cause })
}
