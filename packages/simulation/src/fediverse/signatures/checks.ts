import type { SimRequest } from '../../net/loopback-server.ts'
import type { FoundKey } from '../actors/find-key.ts'
import type { SignatureScheme } from '../actors/persona.ts'

/** What one server needs to know who signed a request. */
export interface SignatureChecks {
  readonly now: () => number
  readonly reads: readonly SignatureScheme[]
  /** @throws Error with the reason */
  findKey(keyId: string): Promise<FoundKey>
  /** That WebFinger knows this actor, where the server wants to know. @throws Error with the reason */
  checkReader(actor: string): Promise<void>
}

/** Header fields with one value each. */
export type FlatHeaders = Readonly<Partial<Record<string, string>>>

/** @returns the actor whose key fits. @throws Error with the reason */
export type VerifySignature = (request: SimRequest, headers: FlatHeaders, checks: SignatureChecks) => Promise<string>
