// Reads and writes the Connector Card, the document of a connector's public keys.
import type { JsonWebKey, KeyObject } from 'node:crypto'
import { createPublicKey } from 'node:crypto'
import { z } from 'zod'
import { EvidenceError } from '../format/members.ts'

/** The path at which a connector publishes its keys. The glossary of mentionable calls a connector an adapter there. */
export const connectorCardPath = '/.well-known/adapter-card'

const jwkSchema = z.looseObject({ kty: z.string(), kid: z.string().min(1).max(256) })

/** The schema of the Connector Card. The project defines its members, because the published text describes its content without a format. */
export const connectorCardSchema = z.looseObject({
  issuer: z.string(),
  name: z.string().optional(),
  /** The present signing keys as JWKs (RFC 7517), each with its `kid`. */
  keys: z.array(jwkSchema).min(1).max(32),
  /** Former signing keys that are still valid. */
  previous_keys: z.array(jwkSchema).max(32).optional(),
  callback_urls: z.array(z.string()).max(32).optional(),
})

type ConnectorCard = z.infer<typeof connectorCardSchema>
type Jwk = z.infer<typeof jwkSchema>

/** The key type of each attestation algorithm, with the names of RFC 7518 and RFC 8037. */
export const attestationAlgorithms = {
  EdDSA: { kty: 'OKP', crv: 'Ed25519', hash: null },
  ES256: { kty: 'EC', crv: 'P-256', hash: 'sha256' },
} as const

export type AttestationAlgorithm = keyof typeof attestationAlgorithms

/**
 * Finds the key with this `kid` in a card.
 * @throws EvidenceError `issuer-controller-mismatch` if the card belongs to another issuer
 */
export function findCardKey(
  document: unknown,
  { issuer, kid, alg }: { readonly issuer: string; readonly kid: string; readonly alg: AttestationAlgorithm },
): KeyObject | undefined {
  const parsedCard = connectorCardSchema.safeParse(document)
  if (!parsedCard.success) throw new EvidenceError('key-unavailable', 'the card of its issuer cannot be read')
  const card = parsedCard.data
  if (card.issuer !== issuer)
    throw new EvidenceError('issuer-controller-mismatch', 'the card belongs to another issuer')
  const matchingKeys = [...card.keys, ...(card.previous_keys ?? [])].filter(key => key.kid === kid)
  // If two keys have the same `kid`, neither key is used.
  return matchingKeys.length === 1 && matchingKeys[0] ? importPublicKey(matchingKeys[0], alg) : undefined
}

/** Imports a key for signatures of this algorithm. A key that is published with its private half proves nothing and is not used. */
function importPublicKey(jwk: Jwk, alg: AttestationAlgorithm): KeyObject | undefined {
  const { kty, crv } = attestationAlgorithms[alg]
  const isForSigning = (jwk.use ?? 'sig') === 'sig' && (jwk.alg ?? alg) === alg && jwk.d === undefined
  if (jwk.kty !== kty || jwk.crv !== crv || !isForSigning) return undefined
  try {
    return createPublicKey({ key: { kty, crv, x: jwk.x, y: jwk.y } as JsonWebKey, format: 'jwk' })
  } catch {
    return undefined
  }
}

interface CardKey {
  readonly kid: string
  readonly publicKey: KeyObject
}

interface CardDraft {
  /** The bare host that serves the card. */
  readonly issuer: string
  readonly name?: string | undefined
  readonly keys: readonly CardKey[]
  readonly previousKeys?: readonly CardKey[] | undefined
  readonly callbackUrls?: readonly string[] | undefined
}

/** Writes the document that a connector serves at `connectorCardPath`. */
export function writeConnectorCard({ issuer, name, keys, previousKeys, callbackUrls }: CardDraft): ConnectorCard {
  return {
    issuer,
    ...(name && { name }),
    keys: keys.map(renderJwk),
    ...(previousKeys && { previous_keys: previousKeys.map(renderJwk) }),
    ...(callbackUrls && { callback_urls: [...callbackUrls] }),
  }
}

function renderJwk({ kid, publicKey }: CardKey): Jwk {
  const { kty = '', crv, x, y } = publicKey.export({ format: 'jwk' })
  return { kty, crv, x, ...(y && { y }), kid, use: 'sig', alg: algorithmOf(publicKey) }
}

/**
 * Returns the attestation algorithm of a key.
 * @throws TypeError for a key that cannot sign attestations
 */
export function algorithmOf(key: KeyObject): AttestationAlgorithm {
  if (key.asymmetricKeyType === 'ed25519') return 'EdDSA'
  if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256'
  throw new TypeError('attestations are signed with Ed25519 or P-256 keys')
}
