// Verifies the HTTP signatures of the gateway with independent libraries.
import type { SignatureParameters } from 'http-message-signatures'
import { createVerifier, httpbis } from 'http-message-signatures'
import type { SimRequest } from '../../net/loopback-server.ts'
import type { SignatureScheme } from '../actors/persona.ts'
import { fediverseHosts } from '../actors/persona.ts'
import type { ActorKey, FetchActorDocument } from '../actors/recipient.ts'
import { checkName, findKey } from '../actors/recipient.ts'
import { computeContentDigest, computeDigest, coveredComponents, loadHttpSignature, rsaAlgorithm } from './sign.ts'

/** Creates the checks of each server, with a cache of keys for servers that have one. */
export function createChecks(
  fetchDocument: FetchActorDocument,
  now: () => number,
): ReadonlyMap<string, SignatureChecks> {
  const findUncachedKey = (keyId: string) => findKey(keyId, fetchDocument)
  return new Map(
    Object.entries(fediverseHosts).map(([host, { persona }]) => [
      host,
      {
        now,
        reads: persona.readableSchemes,
        findKey: persona.cachesKeys ? cacheKeys(findUncachedKey) : findUncachedKey,
        checkReader: async actor => (persona.looksUpSigner ? checkName(actor, fetchDocument) : undefined),
      },
    ]),
  )
}

/** Caches the first key of each id forever, like some servers. */
function cacheKeys(find: SignatureChecks['findKey']): SignatureChecks['findKey'] {
  const knownKeys = new Map<string, ActorKey>()
  return async keyId => {
    const key = knownKeys.get(keyId) ?? (await find(keyId))
    knownKeys.set(keyId, key)
    return key
  }
}

/**
 * Verifies the signer of a request against the actor's own document, which is Mastodon's check, with independent libraries. A request with `Signature-Input` counts as RFC 9421. @throws Error with the reason
 */
export async function verifySigner(request: SimRequest, checks: SignatureChecks): Promise<string> {
  const headers = flattenHeaders(request)
  const scheme: SignatureScheme = headers['signature-input'] === undefined ? 'draft-cavage' : 'rfc9421'
  if (!checks.reads.includes(scheme)) throw new Error(`${request.host} verifies no signature of ${scheme}`)
  return schemes[scheme](request, headers, checks)
}

function flattenHeaders({ headers }: SimRequest): FlatHeaders {
  return Object.fromEntries(Object.entries(headers).map(([name, value = '']) => [name, [value].flat().join(', ')]))
}

const requiredFields = {
  GET: ['(request-target)', 'host', 'date'],
  POST: ['(request-target)', 'host', 'date', 'digest'],
} as const

/** Verifies draft-cavage-http-signatures with `http-signature`. */
const verifyCavage: VerifySignature = async (request, fields, { findKey, now }) => {
  const method = request.method === 'POST' ? 'POST' : 'GET'
  // Peers also call RSA with SHA-256 `hs2019`, a name that the library does not know.
  const signature = fields.signature?.replace('algorithm="hs2019"', 'algorithm="rsa-sha256"')
  const headers = { ...fields, signature: signature || undefined, authorization: undefined }
  const parsedSignature = loadHttpSignature().parseRequest(
    { method: request.method, url: request.target, headers },
    { headers: requiredFields[method], clockSkew: Number.MAX_SAFE_INTEGER },
  )
  checkAge(Date.parse(fields.date ?? ''), now())
  if (method === 'POST' && fields.digest !== computeDigest(request.body)) throw new Error('the digest does not match')
  const { owner, publicKeyPem } = await findKey(parsedSignature.params.keyId)
  if (!loadHttpSignature().verifySignature(parsedSignature, publicKeyPem))
    throw new Error('the signature does not verify')
  return owner
}

/** Verifies RFC 9421 in Mastodon's profile with `http-message-signatures`. */
const verifyRfc9421: VerifySignature = async (request, fields, { findKey, now }) => {
  const method = request.method === 'POST' ? 'POST' : 'GET'
  if (method === 'POST' && fields['content-digest'] !== computeContentDigest(request.body)) {
    throw new Error('the digest does not match')
  }
  const foundKeys: ActorKey[] = []
  const isValid = await httpbis.verifyMessage(
    {
      requiredParams: ['created', 'keyid'],
      requiredFields: [...coveredComponents[method]],
      // `checkAge` checks the age for both schemes.
      notAfter: Number.MAX_SAFE_INTEGER,
      async keyLookup({ keyid = '', created }: SignatureParameters) {
        checkAge(created?.getTime() ?? Number.NaN, now())
        const key = await findKey(keyid)
        foundKeys.push(key)
        return { id: keyid, algs: [rsaAlgorithm], verify: createVerifier(key.publicKeyPem, rsaAlgorithm) }
      },
    },
    { method: request.method, url: `https://${request.host}${request.target}`, headers: { ...fields } },
  )
  const [key, ...otherKeys] = foundKeys
  if (otherKeys.length > 0) throw new Error('there is more than one signature')
  if (!key || !isValid) throw new Error('the signature does not verify')
  return key.owner
}

const schemes: Readonly<Record<SignatureScheme, VerifySignature>> = {
  'draft-cavage': verifyCavage,
  rfc9421: verifyRfc9421,
}

/** The dependencies of one server's signature checks. */
export interface SignatureChecks {
  readonly reads: readonly SignatureScheme[]
  now(): number
  /** @throws Error with the reason */
  findKey(keyId: string): Promise<ActorKey>
  /** Checks that WebFinger knows this actor, if the server requires that. @throws Error with the reason */
  checkReader(actor: string): Promise<void>
}

/** Header fields with one value for each name. */
type FlatHeaders = Readonly<Record<string, string>>

/** @returns the actor whose key fits. @throws Error with the reason */
type VerifySignature = (request: SimRequest, headers: FlatHeaders, checks: SignatureChecks) => Promise<string>

const dateWindowMs = 12 * 3_600_000

/** Checks that a signature is at most twelve hours old, which is Mastodon's limit. @throws Error */
function checkAge(signedAt: number, now: number): void {
  const age = Math.abs(now - signedAt)
  if (!(age <= dateWindowMs)) throw new Error(`the date is ${age} ms away`)
}
