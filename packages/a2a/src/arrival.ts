import type { Json } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { Caller } from './auth/caller.ts'
import type { Call } from './endpoint/call.ts'
import type { ProtocolVersion } from './format/version.ts'
import type { SenderEvidence } from './message/sender-evidence.ts'
import type { ResolvedMessage } from './resolve.ts'

/** What a call took that its stored bytes do not have: the binding, who called, and what credentials proved that are not kept. */
export interface CallArrival {
  readonly binding: Call['binding']
  readonly version: ProtocolVersion
  readonly caller: Pick<
    Caller,
    'owner' | 'isAnonymous' | 'address' | 'authMethod' | 'subject' | 'issuer' | 'keyId' | 'scheme' | 'proof'
  >
  /** Of callers without credentials, who are told apart by their networks. */
  readonly from?: string
  readonly evidence?: SenderEvidence
  readonly resolution?: NonNullable<ResolvedMessage['claim']>['resolution']
}

export function recordCallArrival({ call, senderEvidence, claim }: ResolvedMessage): Json {
  const { binding, version, caller } = call
  const { scopes: _, usedKey: _key, ...who } = caller
  const hasEvidence = senderEvidence.accepted.length > 0 || senderEvidence.proofs.length > 0
  const arrival = {
    binding,
    version,
    caller: who,
    ...(hasEvidence && { evidence: senderEvidence }),
    ...(claim && { resolution: claim.resolution }),
  }
  return arrival as unknown as Json
}

/** Undefined when it is no record of a call. */
export function restoreCall(record: Json): CallArrival | undefined {
  return isJsonObject(record) && isJsonObject(record.caller) ? (record as unknown as CallArrival) : undefined
}
