// Verifies that the holder of a token's key has signed the request (DPoP, RFC 9449).
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { System } from '@postern/message'
import { isJsonObject, parseJsonText, parseUrl } from '@postern/message'
import type { Store } from '@postern/pipeline'
import type { JWK, JWTPayload } from 'jose'
import { ProofRejection } from './challenges.ts'
import { tokenAlgorithms } from './issuer-rules.ts'
import { loadJose } from './load-jose.ts'
import type { SingleUses } from './single-uses.ts'

/** The request that a proof must match. */
interface ProvenRequest {
  readonly token: string
  /** The `cnf.jkt` of the token. */
  readonly keyThumbprint: string
  /** The owner of the token. */
  readonly owner: string
  readonly method: string
  /** The gateway's public address of the request, without the query. */
  readonly url: string
}

export interface ProofRules {
  readonly toleranceSeconds: number
  readonly singleUses: SingleUses
  /** The nonces for proofs. Undefined if proofs need no nonce. */
  readonly nonces: DpopNonces | undefined
  now(): number
}

/** The maximum age of a proof in seconds, without the tolerance. */
const proofSeconds = 60
const maxJtiChars = 256
const keyTypes: ReadonlySet<unknown> = new Set(['EC', 'OKP', 'RSA'])
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/**
 * Checks a DPoP proof against its request (RFC 9449 §4.3). The `jti` is used up last, so that an invalid proof uses none up.
 * @throws ProofRejection; Rejection `rate_limited`; Unavailable
 */
export async function verifyProof(proof: string, request: ProvenRequest, rules: ProofRules): Promise<void> {
  const jwk = await readProofKey(proof)
  const claims = await checkProofSignature(proof)
  const { calculateJwkThumbprint } = await loadJose()
  if ((await calculateJwkThumbprint(jwk, 'sha256')) !== request.keyThumbprint) {
    throw refuseProof('is made with another key than the token is bound to')
  }
  checkProofClaims(claims, request, rules)
  await checkNonce(claims.nonce, rules.nonces)
  const expiresAt = ((claims.iat ?? 0) + proofSeconds + rules.toleranceSeconds) * 1000
  const { keyThumbprint: boundTo, owner } = request
  if (!(await rules.singleUses.consume({ id: `dpop ${boundTo} ${claims.jti}`, owner, expiresAt }))) {
    throw refuseProof('was used before')
  }
}

/** Reads the public key in the proof. Private members are refused, because the sender has revealed the key with them. */
async function readProofKey(proof: string): Promise<JWK> {
  const { decodeProtectedHeader } = await loadJose()
  const { jwk, crit } = decodeHeader(() => decodeProtectedHeader(proof))
  if (crit !== undefined) throw refuseProof('names critical parameters')
  if (!isJsonObject(jwk) || !keyTypes.has(jwk.kty)) throw refuseProof('holds no public key')
  if (privateMembers.some(name => Object.hasOwn(jwk, name))) throw refuseProof('holds a private key')
  return jwk as JWK
}

function decodeHeader<Header>(decode: () => Header): Header {
  try {
    return decode()
  } catch (cause) {
    throw refuseProof('is not a JWT', cause)
  }
}

async function checkProofSignature(proof: string): Promise<JWTPayload> {
  const { compactVerify, EmbeddedJWK } = await loadJose()
  try {
    const { payload, protectedHeader } = await compactVerify(proof, EmbeddedJWK, { algorithms: [...tokenAlgorithms] })
    if (protectedHeader.typ?.toLowerCase().replace('application/', '') !== 'dpop+jwt')
      throw refuseProof('is of another type')
    const claims: unknown = parseJsonText(new TextDecoder().decode(payload))
    if (!isJsonObject(claims)) throw refuseProof('holds no claims')
    return claims
  } catch (cause) {
    throw cause instanceof ProofRejection ? cause : refuseProof('is not signed as it should be', cause)
  }
}

function checkProofClaims(claims: JWTPayload, request: ProvenRequest, { now, toleranceSeconds }: ProofRules): void {
  const { jti, htm, htu, iat, ath } = claims
  const seconds = now() / 1000
  if (typeof jti !== 'string' || jti === '' || jti.length > maxJtiChars) throw refuseProof('has no usable jti')
  if (htm !== request.method) throw refuseProof('is for another method')
  if (typeof htu !== 'string' || withoutQuery(htu) !== request.url) throw refuseProof('is for another address')
  if (typeof iat !== 'number' || iat > seconds + toleranceSeconds) throw refuseProof('is not of this time')
  if (iat < seconds - proofSeconds - toleranceSeconds) throw refuseProof('is too old')
  if (ath !== hash('sha256', request.token, 'base64url')) throw refuseProof('is for another token')
}

function withoutQuery(htu: string): string | undefined {
  const url = parseUrl(htu)
  return url ? url.origin + url.pathname : undefined
}

async function checkNonce(nonce: unknown, nonces: DpopNonces | undefined): Promise<void> {
  if (!nonces || (typeof nonce === 'string' && nonce.length <= 256 && (await nonces.isValid(nonce)))) return
  throw new ProofRejection('DPoP proof needs the current nonce', { nonce: await nonces.currentNonce() })
}

function refuseProof(reason: string, cause?: unknown): ProofRejection {
  return new ProofRejection(`DPoP proof ${reason}`, { cause })
}

/** Nonces for proofs (RFC 9449 §8, §9). They are the same in every process of the gateway, and none is stored. */
interface DpopNonces {
  currentNonce(): Promise<string>
  /** Returns true for the current nonce and for the one before it. */
  isValid(nonce: string): Promise<boolean>
}

const nonceSpanMs = 5 * 60_000

interface NonceDeps {
  readonly store: Pick<Store, 'openSecret'>
  readonly system: Pick<System, 'now'>
}

export function createDpopNonces({ store, system }: NonceDeps): DpopNonces {
  const listNonces = async (span: number) => {
    const keys = (await store.openSecret('a2a:dpop-nonce')).list()
    return keys.map(key => createHmac('sha256', key).update(String(span)).digest('base64url').slice(0, 27))
  }
  const readCurrentSpan = () => Math.floor(system.now() / nonceSpanMs)
  return {
    currentNonce: async () => (await listNonces(readCurrentSpan()))[0] ?? '',
    async isValid(nonce) {
      const receivedNonce = Buffer.from(nonce)
      const nonces = await Promise.all([readCurrentSpan(), readCurrentSpan() - 1].map(listNonces))
      return nonces.flat().some(nonce => equalsInConstantTime(receivedNonce, Buffer.from(nonce)))
    },
  }
}

function equalsInConstantTime(receivedNonce: Buffer, expectedNonce: Buffer): boolean {
  return receivedNonce.length === expectedNonce.length && timingSafeEqual(receivedNonce, expectedNonce)
}
