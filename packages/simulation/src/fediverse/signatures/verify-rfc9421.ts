import type { SignatureParameters } from 'http-message-signatures'
import { createVerifier, httpbis } from 'http-message-signatures'
import type { SimRequest } from '../../net/loopback-server.ts'
import type { FoundKey } from '../actors/find-key.ts'
import type { FlatHeaders, VerifySignature } from './checks.ts'
import { computeContentDigest } from './digest.ts'
import { coveredComponents, rsaAlgorithm } from './sign-rfc9421.ts'
import { checkAge } from './time-window.ts'

/** RFC 9421 in Mastodon's profile, checked by `http-message-signatures`. */
export const verifyRfc9421: VerifySignature = async (request, fields, { now, findKey }) => {
  const method = request.method === 'POST' ? 'POST' : 'GET'
  if (method === 'POST' && fields['content-digest'] !== computeContentDigest(request.body)) {
    throw new Error('the digest does not match')
  }
  const found: FoundKey[] = []
  const holds = await httpbis.verifyMessage(
    {
      requiredParams: ['created', 'keyid'],
      requiredFields: [...coveredComponents[method]],
      // The world has a clock of its own.
      notAfter: Number.MAX_SAFE_INTEGER,
      async keyLookup({ keyid = '', created }: SignatureParameters) {
        checkAge(created?.getTime() ?? Number.NaN, now())
        const key = await findKey(keyid)
        found.push(key)
        return { id: keyid, algs: [rsaAlgorithm], verify: createVerifier(key.publicKeyPem, rsaAlgorithm) }
      },
    },
    describeRequest(request, fields),
  )
  const [key, ...more] = found
  if (more.length > 0) throw new Error('there is more than one signature')
  if (!key || !holds) throw new Error('the signature does not verify')
  return key.owner
}

function describeRequest({ method, host, target }: SimRequest, fields: FlatHeaders) {
  const headers = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value ?? '']))
  return { method, url: `https://${host}${target}`, headers }
}
