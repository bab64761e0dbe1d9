import type { VerifySignature } from './checks.ts'
import { computeDigest } from './digest.ts'
import { loadHttpSignature } from './http-signature.ts'
import { checkAge } from './time-window.ts'

const requiredFields = {
  GET: ['(request-target)', 'host', 'date'],
  POST: ['(request-target)', 'host', 'date', 'digest'],
} as const

/** draft-cavage-http-signatures, checked by `http-signature`. */
export const verifyCavage: VerifySignature = async (request, fields, { now, findKey }) => {
  const method = request.method === 'POST' ? 'POST' : 'GET'
  // Peers call RSA with SHA-256 `hs2019` too; the library does not know the name.
  const signature = fields.signature?.replace('algorithm="hs2019"', 'algorithm="rsa-sha256"')
  const headers = { ...fields, signature: signature || undefined, authorization: undefined }
  const parsed = loadHttpSignature().parseRequest(
    { method: request.method, url: request.target, headers },
    { headers: requiredFields[method], clockSkew: Number.MAX_SAFE_INTEGER },
  )
  checkAge(Date.parse(fields.date ?? ''), now())
  if (method === 'POST' && fields.digest !== computeDigest(request.body)) throw new Error('the digest does not match')
  const { owner, publicKeyPem } = await findKey(parsed.params.keyId)
  if (!loadHttpSignature().verifySignature(parsed, publicKeyPem)) throw new Error('the signature does not verify')
  return owner
}
