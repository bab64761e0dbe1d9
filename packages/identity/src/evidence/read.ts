import type { KeyObject } from 'node:crypto'
import type { IdentityEvidence, LeftOutEvidence } from '@postern/core'
import type { Assertion } from './trust.ts'
import type { ValidityWindow } from './window.ts'

/** A piece of evidence that is whole, and not proven yet: the same for both versions. */
export interface ReadEvidence {
  readonly assertion: Assertion
  /** Whom it is meant for. */
  readonly audiences: readonly string[]
  /** The message it is meant for; undefined where it is for any. */
  readonly messageId: string | undefined
  readonly window: ValidityWindow
  readonly keyId: string
  readonly algorithm: string
  /** Where the issuer publishes its keys. */
  readonly keysAt: string
  /** The key it names, in that document; undefined when it is not there. @throws EvidenceFault */
  findKey(document: unknown, now: number): KeyObject | undefined
  isSignedWith(key: KeyObject): boolean
  /** By what it is known again when it comes a second time, whatever its signature looks like. */
  readonly replayKey: string
  /** What the agent gets: nothing in it can be used again. */
  render(): IdentityEvidence
}

/** One version of identity evidence: where a message carries it, and how it is read. */
export interface EvidenceForm {
  readonly kind: LeftOutEvidence['kind']
  readonly carrier: 'identity_evidence' | 'verifiable_credentials'
  /** `audience`: the agent that is spoken to. @throws EvidenceFault */
  read(entry: Readonly<Record<string, unknown>>, place: { readonly audience: string }): ReadEvidence
}
