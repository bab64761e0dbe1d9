import type { SimRequest } from '../../net/loopback-server.ts'
import type { FetchActorDocument, FoundKey } from '../actors/find-key.ts'
import { findKey } from '../actors/find-key.ts'
import type { HostPlan, SignatureScheme } from '../actors/persona.ts'
import { checkName } from '../actors/recipient.ts'
import type { FlatHeaders, SignatureChecks, VerifySignature } from './checks.ts'
import { verifyCavage } from './verify-cavage.ts'
import { verifyRfc9421 } from './verify-rfc9421.ts'

const schemes: Readonly<Record<SignatureScheme, VerifySignature>> = {
  'draft-cavage': verifyCavage,
  rfc9421: verifyRfc9421,
}

/** The checks of each server, which remembers keys or not. */
export function createChecks(
  hosts: Readonly<Record<string, HostPlan>>,
  now: () => number,
  fetchDocument: FetchActorDocument,
): ReadonlyMap<string, SignatureChecks> {
  const find = (keyId: string) => findKey(keyId, fetchDocument)
  return new Map(
    Object.entries(hosts).map(([host, { persona }]) => [
      host,
      {
        now,
        reads: persona.reads,
        findKey: persona.keepsKeys ? keepFirst(find) : find,
        checkReader: async actor => (persona.asksForReadersName ? checkName(actor, fetchDocument) : undefined),
      },
    ]),
  )
}

/** What was found once is never looked up again, whatever becomes of it. */
function keepFirst(find: SignatureChecks['findKey']): SignatureChecks['findKey'] {
  const kept = new Map<string, FoundKey>()
  return async keyId => {
    const key = kept.get(keyId) ?? (await find(keyId))
    kept.set(keyId, key)
    return key
  }
}

/**
 * Who signed this request, by the actor's own document: the check Mastodon makes, with independent libraries doing the
 * cryptography. `Signature-Input` says that it is RFC 9421. @throws Error with the reason
 */
export async function verifySigner(request: SimRequest, checks: SignatureChecks): Promise<string> {
  const headers = flattenHeaders(request)
  const scheme: SignatureScheme = headers['signature-input'] === undefined ? 'draft-cavage' : 'rfc9421'
  if (!checks.reads.includes(scheme)) throw new Error(`${request.host} reads no signature of ${scheme}`)
  return schemes[scheme](request, headers, checks)
}

function flattenHeaders({ headers }: SimRequest): FlatHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
}
