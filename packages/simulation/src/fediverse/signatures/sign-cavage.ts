import { loadHttpSignature } from './http-signature.ts'
import type { UnsignedRequest } from './unsigned-request.ts'

const signedFields = {
  GET: ['(request-target)', 'host', 'date'],
  POST: ['(request-target)', 'host', 'date', 'digest', 'content-type'],
} as const

/** Adds the `Signature` of draft-cavage-http-signatures, made by `http-signature`. */
export async function signCavage(request: UnsignedRequest): Promise<Record<string, string>> {
  const headers = { ...request.headers }
  const { pathname, search } = new URL(request.url)
  const { keyId, persona } = request.signer
  loadHttpSignature().signRequest(
    {
      method: request.method,
      path: pathname + search,
      getHeader: name => headers[name.toLowerCase()],
      setHeader: (name, value) => {
        headers[name.toLowerCase()] = value
      },
    },
    {
      key: request.key,
      keyId,
      algorithm: 'rsa-sha256',
      headers: signedFields[request.method],
      authorizationHeaderName: 'signature',
    },
  )
  // The library knows no `hs2019`; the parameter itself is not signed.
  const signature = headers.signature?.replace('algorithm="rsa-sha256"', `algorithm="${persona.algorithm}"`) ?? ''
  return { ...headers, signature }
}
