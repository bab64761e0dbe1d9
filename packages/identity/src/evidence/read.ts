import type { KeyObject } from 'node:crypto'
import type { IdentityEvidence, LeftOutEvidence } from '@postern/core'
import type { Assertion } from './trust.ts'
import type { ValidityWindow } from './window.ts'

/** Well-formed evidence that is not proven yet, the same for both versions. */
export interface ReadEvidence {
  readonly assertion: Assertion
  /** The audience. */
  readonly audiences: readonly string[]
  /** The message that it is for; undefined for any message. */
  readonly messageId: string | undefined
  readonly window: ValidityWindow
  readonly keyId: string
  readonly algorithm: string
  /** Where the issuer publishes its keys. */
  readonly keysAt: string
  /** The named key in that document; undefined when it is absent. @throws EvidenceFault */
  findKey(document: unknown, now: number): KeyObject | undefined
  isSignedWith(key: KeyObject): boolean
  /** Identifies a repetition, whatever its signature looks like. */
  readonly replayKey: string
  /** What the agent gets. Nothing in it can be used again. */
  render(): IdentityEvidence
}

/** One version of identity evidence: where a message carries it, and how it is read. */
export interface EvidenceForm {
  readonly kind: LeftOutEvidence['kind']
  readonly carrier: 'identity_evidence' | 'verifiable_credentials'
  /** `audience`: the addressed agent. @throws EvidenceFault */
  read(entry: Readonly<Record<string, unknown>>, place: { readonly audience: string }): ReadEvidence
}
