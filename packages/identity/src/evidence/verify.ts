import type { EvidenceClaim, Platform } from '@postern/core'
import type { IdentityConfig } from '../config.ts'
import { EvidenceFault } from '../format/fault.ts'
import type { DocumentCache } from './documents.ts'
import type { ReadEvidence } from './read.ts'
import { checkTrust } from './trust.ts'
import { checkWindow } from './window.ts'

export interface EvidenceDeps {
  readonly config: Pick<IdentityConfig, 'trusted_issuers'>
  readonly documents: DocumentCache
  readonly platform: Pick<Platform, 'now'>
}

/**
 * All checks but the use: issuer, binding, time, key, signature, time again (MN-6.5). Untrusted issuers, and evidence for other messages,
 * cause no fetch. @throws EvidenceFault
 */
export async function checkEvidence(
  evidence: ReadEvidence,
  claim: Pick<EvidenceClaim, 'audience' | 'messageId'>,
  { config, documents, platform }: EvidenceDeps,
): Promise<void> {
  checkTrust(evidence.assertion, config.trusted_issuers)
  checkBinding(evidence, claim)
  checkWindow(evidence.window, platform.now())
  const key = await documents.find(evidence.keysAt, document => evidence.findKey(document, platform.now()))
  if (!key) throw new EvidenceFault('invalid-signature', 'its issuer has no such key to assert with')
  if (!evidence.isSignedWith(key)) throw new EvidenceFault('invalid-signature', 'its signature does not fit it')
  // The fetch of the keys may have taken long.
  checkWindow(evidence.window, platform.now())
}

function checkBinding(
  { audiences, messageId }: ReadEvidence,
  claim: Pick<EvidenceClaim, 'audience' | 'messageId'>,
): void {
  if (!audiences.includes(claim.audience)) throw new EvidenceFault('wrong-domain', 'it is for another agent')
  if (messageId === undefined || messageId === claim.messageId) return
  throw new EvidenceFault('challenge-mismatch', 'it is for another message')
}
