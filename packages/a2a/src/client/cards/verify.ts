// Verifies the signatures of agent cards.
import type { JWK } from '@postern/http/tokens'
import { loadJose } from '@postern/http/tokens'
import type { System } from '@postern/message'
import { isJsonObject, parseIfJson, parseUrl } from '@postern/message'
import { toSignedBytes } from '../../cards/signed-cards.ts'
import { fetchDocument, refuseAgent } from '../exchange/fetch-document.ts'
import type { FoundCard } from './find.ts'

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
 * Verifies the signatures of a card (A2A §8.4.3). One valid signature is enough, because others serve rotation. Keys come from the card's origin
 * or from one that the operator allows, regardless of the address that the signature names.
 * @returns the id of the key; undefined if the card is unsigned
 * @throws Undeliverable if no signature is valid; Unavailable if no key can be fetched
 */
export async function verifyCard(card: FoundCard, trust: CardTrust, signal?: AbortSignal): Promise<string | undefined> {
  const { signatures } = card.document
  if (signatures === undefined || signatures === null || (Array.isArray(signatures) && signatures.length === 0)) {
    return undefined
  }
  if (!Array.isArray(signatures) || signatures.length > maxSignatures) throw refuseAgent('its card is not signed right')
  const parsedSignatures = signatures.map(readSignature)
  const keysOf = createKeySource(trust, signal)
  for (const parsedSignature of parsedSignatures) {
    const keys = parsedSignature && (await keysOf(chooseKeySet(parsedSignature.jku, card.url, trust)))
    if (keys && (await isSignatureValid(parsedSignature, card.document, keys, trust.system.now())))
      return parsedSignature.kid
  }
  throw refuseAgent('no signature of its card holds')
}

/** Parses the header of a signature. Returns undefined if the signature cannot be valid: no `kid`, another algorithm, or a critical header. */
function readSignature(value: unknown) {
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

/** Creates the source of keys, which fetches each key set once for a card. */
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
  { kid, alg, protected: protectedHeader, signature }: NonNullable<ReturnType<typeof readSignature>>,
  card: object,
  keys: readonly JWK[],
  now: number,
): Promise<boolean> {
  const { importJWK, flattenedVerify } = await loadJose()
  const jwk = keys.find(key => key.kid === kid && isUsable(key, alg, now))
  if (!jwk) return false
  for (const payload of listPayloads(card)) {
    const jws = { protected: protectedHeader, signature, payload: Buffer.from(payload).toString('base64url') }
    const verificationKey = await importJWK(jwk, alg)
      .then(key => flattenedVerify(jws, key, { algorithms: [alg] }))
      .catch(() => undefined)
    if (verificationKey) return true
  }
  return false
}

/** Lists the texts that a signature may be made over. A card with a lone surrogate has no canonical form, so no signature can be valid. */
function listPayloads(card: object): readonly Uint8Array[] {
  try {
    return listSignedForms(card).map(toSignedBytes)
  } catch {
    return []
  }
}

/** Returns true if a key is usable. It may state its expiry (`exp`, seconds) and its use (RFC 7517 §4). */
function isUsable(key: JWK, algorithm: string, now: number): boolean {
  const { use, alg, exp, nbf }: JWK & { readonly exp?: unknown; readonly nbf?: unknown } = key
  if (use !== undefined && use !== 'sig') return false
  if (alg !== undefined && alg !== algorithm) return false
  const seconds = now / 1000
  return !(typeof exp === 'number' && exp <= seconds) && !(typeof nbf === 'number' && nbf > seconds)
}

/** The members of a card of 1.0 (A2A §4.4.1). */
const cardMembers: ReadonlySet<string> = new Set([
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
 * Lists the forms of the card that its signer may have signed, all derived from this card. Some signers drop members at their default. A server
 * with members of 0.3 may have signed only those of 1.0, and then only these are used.
 */
function listSignedForms(card: object): readonly object[] {
  const entries = Object.entries(card).filter(([name]) => name !== 'signatures')
  const currentEntries = entries.filter(([name]) => cardMembers.has(name))
  const isMixed = currentEntries.length < entries.length && Object.hasOwn(card, 'supportedInterfaces')
  const candidateCards = isMixed ? [card, Object.fromEntries(currentEntries)] : [card]
  return candidateCards.flatMap(card => [card, ...defaultDroppers.map(drop => drop(card))])
}

type DropDefaults = (value: object) => object

const isEmpty = (value: unknown) =>
  value === null ||
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)
const isDefault = (value: unknown) => value === false || value === 0 || isEmpty(value)

/**
 * The ways in which signers drop members. Protobuf drops members at their default. Some signers also drop them inside lists, maps and the
 * `params` of extensions. a2a-python drops everything empty, and keeps `false` and 0 if they are set.
 */
const defaultDroppers: readonly DropDefaults[] = [
  dropMessageDefaults,
  dropDefaults,
  value => dropEverywhere(value, isEmpty),
]

/** Returns the card without members at their default, wherever they are (A2A §8.4.1). */
export function dropDefaults(value: object): object {
  return dropEverywhere(value, isDefault)
}

function dropEverywhere(value: object, isDropped: (member: unknown) => boolean): object {
  const dropWithin = (member: unknown): unknown => {
    if (Array.isArray(member)) return member.map(dropWithin).filter(item => !isDropped(item))
    return isJsonObject(member) ? dropEverywhere(member, isDropped) : member
  }
  const entries = Object.entries(value).map(([name, member]) => [name, dropWithin(member)] as const)
  return Object.fromEntries(entries.filter(([, member]) => !isDropped(member)))
}

/** The members of a card that are maps, or the Struct of an extension. Their own members are not fields of a message. */
const mapMembers: ReadonlySet<string> = new Set(['securitySchemes', 'schemes', 'scopes'])
const struct = 'params'

function dropMessageDefaults(message: object): object {
  const entries = Object.entries(message).map(([name, member]) => [name, dropInField(name, member)] as const)
  return Object.fromEntries(entries.filter(([name, member]) => name === struct || !isDefault(member)))
}

function dropInField(name: string, member: unknown): unknown {
  if (name === struct) return member
  if (Array.isArray(member)) return member.map(dropInItem)
  if (!isJsonObject(member)) return member
  if (!mapMembers.has(name)) return dropMessageDefaults(member)
  return Object.fromEntries(Object.entries(member).map(([key, item]) => [key, dropInItem(item)]))
}

function dropInItem(item: unknown): unknown {
  return isJsonObject(item) ? dropMessageDefaults(item) : item
}
