import type { IntakeSteps, KeyOrigin, Proof, ProofKey, UsedKey } from '@postern/core'
import { isJsonObject, parseIfJson, toProofKey } from '@postern/core'
import type { CryptoKey } from 'jose'
import { loadJose } from '../jose.ts'

/** Written once for a key, for it verifies many tokens. */
const written = new WeakMap<object, ProofKey>()
/** Those that have proven a request already: what was fetched then is remembered now. */
const used = new WeakSet<UsedKey>()

/** The key of an issuer as the record of a message keeps it. A secret that is shared with the issuer is not kept. */
export async function describeUsedKey(key: CryptoKey | Uint8Array | undefined, from: KeyOrigin): Promise<UsedKey> {
  if (key === undefined || key instanceof Uint8Array || key.type !== 'public' || !key.extractable) return { from }
  const { exportJWK } = await loadJose()
  const known = written.get(key) ?? toProofKey('jwk', JSON.stringify(await exportJWK(key)))
  written.set(key, known)
  return { from, key: known }
}

/** Notes how the caller of a request was proven, which began at `since`. */
export function noteCaller(
  steps: IntakeSteps,
  since: number,
  { proof, usedKey }: { readonly proof: Proof; readonly usedKey?: UsedKey | undefined },
): void {
  const isKnown = usedKey !== undefined && used.has(usedKey) && usedKey.from === 'fetched'
  if (usedKey) used.add(usedKey)
  steps.note(proof, since, isKnown ? { ...usedKey, from: 'cache' } : usedKey)
}

/** A token with more is not looked at. */
const maxClaims = 8 * 1024

/** Whom a bearer token names, for the list of what was refused: nothing of it is verified. Undefined when it is not a JWT. */
export function readClaimedSubject(headers: Headers): string | undefined {
  const token = headers.get('authorization')?.slice(0, maxClaims)
  const [, payload] = /^(?:Bearer|DPoP) +[\w-]+\.([\w-]+)\./i.exec(token ?? '') ?? []
  const claims = payload && parseIfJson(Buffer.from(payload, 'base64url').toString())
  if (!isJsonObject(claims)) return undefined
  const { sub, client_id, iss } = claims
  const subject = [sub, client_id].find(claim => typeof claim === 'string')
  const issuer = typeof iss === 'string' ? ` of ${iss}` : ''
  return subject === undefined ? undefined : `${subject}${issuer}`
}
