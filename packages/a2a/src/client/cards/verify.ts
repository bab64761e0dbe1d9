// Verifies the signatures of agent cards.
import type { JWK } from '@postern/http/tokens'
import { loadJose } from '@postern/http/tokens'
import type { System } from '@postern/message'
import { isJsonObject, parseIfJson, parseUrl } from '@postern/message'
import { toSignedBytes } from '../../cards/signed-cards.ts'
import { fetchDocument, refuseAgent } from '../exchange/fetch-document.ts'
import { defaultDroppers } from './default-members.ts'
import type { FetchedCard } from './find.ts'

/** The accepted signature algorithms of cards (A2A §8.4.2). */
const algorithms: ReadonlySet<unknown> = new Set(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'RS256'])
const keySetPath = '/.well-known/jwks.json'
const maxSignatures = 8
const maxKeys = 64

interface CardTrust {
  readonly system: Pick<System, 'fetch' | 'now'>
  /** Returns true if keys at this origin are trusted although the card has another origin. */
  isAllowedOrigin(origin: string): boolean
}

/**
 * Verifies the signatures of a card (A2A §8.4.3). One valid signature is enough, because a card has several signatures while its signer
 * rotates keys. Keys come from the card's origin or from an origin that the operator allows, regardless of the address that the signature names.
 * @returns the id of the key; undefined if the card is unsigned
 * @throws Undeliverable if no signature is valid; Unavailable if no key can be fetched
 */
export async function verifyCard(
  card: FetchedCard,
  trust: CardTrust,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { signatures } = card.document
  if (signatures === undefined || signatures === null || (Array.isArray(signatures) && signatures.length === 0)) {
    return undefined
  }
  if (!Array.isArray(signatures) || signatures.length > maxSignatures) throw refuseAgent('its signatures are malformed')
  const parsedSignatures = signatures.map(readSignature)
  const keysOf = createKeySource(trust, signal)
  for (const parsedSignature of parsedSignatures) {
    const keys = parsedSignature && (await keysOf(chooseKeySet(parsedSignature.jku, card.url, trust)))
    if (keys && (await isSignatureValid(parsedSignature, { card: card.document, keys, now: trust.system.now() }))) {
      return parsedSignature.kid
    }
  }
  throw refuseAgent('no signature of its card is valid')
}

interface CardSignature {
  /** The protected header in base64url. */
  readonly protected: string
  readonly signature: string
  readonly alg: string
  readonly kid: string
  readonly jku: string | undefined
}

/**
 * Parses the header of a signature. Returns undefined if the signature cannot be valid, because it has no `kid`, an unknown algorithm, or a critical
 * header.
 */
function readSignature(value: unknown): CardSignature | undefined {
  if (!isJsonObject(value) || typeof value.protected !== 'string' || typeof value.signature !== 'string')
    return undefined
  const { alg, kid, jku, crit } = decodeHeader(value.protected)
  if (!algorithms.has(alg) || typeof kid !== 'string' || kid === '' || crit !== undefined) return undefined
  const jkuUrl = typeof jku === 'string' ? jku : undefined
  return { protected: value.protected, signature: value.signature, alg: String(alg), kid, jku: jkuUrl }
}

function decodeHeader(text: string): Readonly<Record<string, unknown>> {
  const header = parseIfJson(Buffer.from(text, 'base64url').toString())
  return isJsonObject(header) ? header : {}
}

/** Chooses the key set. `jku` only selects among trusted key sets. */
function chooseKeySet(jku: string | undefined, cardUrl: string, { isAllowedOrigin }: CardTrust): string {
  const cardOrigin = new URL(cardUrl).origin
  if (jku === undefined) return cardOrigin + keySetPath
  const origin = parseUrl(jku)?.origin
  if (origin === undefined || (origin !== cardOrigin && !isAllowedOrigin(origin))) {
    throw refuseAgent('keys of its card are on another origin')
  }
  return jku
}

/** Creates the function that returns the keys at a URL. For one card, it fetches each key set once. */
function createKeySource({ system }: CardTrust, signal: AbortSignal | undefined) {
  const keySets = new Map<string, Promise<readonly JWK[]>>()
  const fetchKeys = async (url: string): Promise<readonly JWK[]> => {
    const request = { subject: 'its key set', accept: 'application/jwk-set+json, application/json', signal }
    const { keys } = await fetchDocument(url, system, request)
    if (!Array.isArray(keys)) throw refuseAgent('its key set holds no keys')
    return keys.slice(0, maxKeys).filter(key => isJsonObject(key) && key.kty !== 'oct') as readonly JWK[]
  }
  return (url: string) => {
    const keySet = keySets.get(url) ?? fetchKeys(url)
    keySets.set(url, keySet)
    return keySet
  }
}

async function isSignatureValid(
  { kid, alg, protected: protectedHeader, signature }: CardSignature,
  { card, keys, now }: { readonly card: object; readonly keys: readonly JWK[]; readonly now: number },
): Promise<boolean> {
  const { importJWK, flattenedVerify } = await loadJose()
  const jwk = keys.find(key => key.kid === kid && isUsable(key, alg, now))
  if (!jwk) return false
  for (const payload of listPayloads(card)) {
    const jws = { protected: protectedHeader, signature, payload: Buffer.from(payload).toString('base64url') }
    const isVerified = await importJWK(jwk, alg)
      .then(key => flattenedVerify(jws, key, { algorithms: [alg] }))
      .then(() => true)
      .catch(() => false)
    if (isVerified) return true
  }
  return false
}

/** Lists the byte strings that the signer may have signed. A card with a lone surrogate has no canonical form, so no signature can be valid. */
function listPayloads(card: object): readonly Uint8Array[] {
  try {
    return listSignedForms(card).map(toSignedBytes)
  } catch {
    return []
  }
}

/** Returns true if a key is usable. A key may limit its time (`exp` and `nbf`, in seconds) and its use (RFC 7517 §4). */
function isUsable(key: JWK, algorithm: string, now: number): boolean {
  const { use, alg, exp, nbf }: JWK & { readonly exp?: unknown; readonly nbf?: unknown } = key
  if (use !== undefined && use !== 'sig') return false
  if (alg !== undefined && alg !== algorithm) return false
  const nowSeconds = now / 1000
  return !(typeof exp === 'number' && exp <= nowSeconds) && !(typeof nbf === 'number' && nbf > nowSeconds)
}

/** The members of a card of A2A 1.0 (A2A §4.4.1). */
const currentCardMembers: ReadonlySet<string> = new Set([
  'name',
  'description',
  'version',
  'supportedInterfaces',
  'provider',
  'documentationUrl',
  'iconUrl',
  'capabilities',
  'securitySchemes',
  'securityRequirements',
  'defaultInputModes',
  'defaultOutputModes',
  'skills',
])

/**
 * Lists the forms of the card that its signer may have signed, all derived from this card. Some signers drop members at their default. The
 * signer of a card with members of 0.3 may have signed only the members of 1.0.
 */
function listSignedForms(card: object): readonly object[] {
  const entries = Object.entries(card).filter(([name]) => name !== 'signatures')
  const currentEntries = entries.filter(([name]) => currentCardMembers.has(name))
  const isMixed = currentEntries.length < entries.length && Object.hasOwn(card, 'supportedInterfaces')
  const candidateCards = isMixed ? [card, Object.fromEntries(currentEntries)] : [card]
  return candidateCards.flatMap(candidate => [
    candidate,
    ...defaultDroppers.map(dropDefaults => dropDefaults(candidate)),
  ])
}
