// Verifies all identity evidence of a message. Valid evidence becomes an identity of its sender.

import { toConfigured } from '@postern/message'
import type { EvidenceCaller, EvidenceClaim, EvidenceResult, IdentityVerifier, SingleUseStore } from '@postern/pipeline'
import type { IdentityConfig } from './config.ts'
import { attestationFormat } from './connector/attestation.ts'
import { credentialForm } from './credential/credential.ts'
import type { DocumentSystem, EvidenceDeps } from './evidence/check-evidence.ts'
import { checkEvidence, createDocumentCache } from './evidence/check-evidence.ts'
import type { CarriedEntry, UseEvidence } from './evidence/evidence-uses.ts'
import {
  createEvidenceUses,
  describeAcceptedEvidence,
  describeRejectedEvidence,
  readCarrier,
} from './evidence/evidence-uses.ts'
import type { EvidenceFormat, UnverifiedEvidence } from './evidence/trust.ts'
import { EvidenceError } from './format/members.ts'

const evidenceForms: readonly EvidenceFormat[] = [attestationFormat, credentialForm]

interface IdentityDeps {
  readonly system: DocumentSystem
  /** Stores used evidence for all processes. */
  readonly store: SingleUseStore
}

/** The result for one entry of a carrier. */
interface EvidenceOutcome {
  readonly kind: EvidenceFormat['kind']
  readonly evidence?: UnverifiedEvidence | undefined
  readonly error?: EvidenceError | undefined
}

/** Opens the verifier of forwarded evidence (MN-6.4, MN-6.5). Valid evidence becomes an identity. Invalid evidence is left out and logged. */
export function openIdentity(config: IdentityConfig, { system, store }: IdentityDeps): IdentityVerifier {
  const deps: EvidenceDeps = { config, system, documents: createDocumentCache(toConfigured(system)) }
  const useEvidence = createEvidenceUses(store)
  return {
    extensions: listIdentityExtensions(config),
    async verify(claim) {
      const checkedOutcomes = await Promise.all(evidenceForms.flatMap(form => verifyForm(form, claim, deps)))
      const outcomes = await consumeEvidence(checkedOutcomes, claim, useEvidence)
      for (const outcome of outcomes) logRejectedEvidence(outcome, claim, system)
      return toEvidenceResult(outcomes)
    },
    isConnector: ({ issuer, subject }: EvidenceCaller) =>
      config.connectors.some(connector => connector.issuer === issuer && connector.subject === subject),
  }
}

function verifyForm(
  form: EvidenceFormat,
  claim: EvidenceClaim,
  deps: EvidenceDeps,
): readonly (Promise<EvidenceOutcome> | EvidenceOutcome)[] {
  const carrier = claim.carriers[form.carrier]
  if (carrier === undefined || carrier === null) return []
  try {
    return readCarrier(carrier).map(entry => verifyEntry(entry, { form, claim, deps }))
  } catch (error) {
    return [{ kind: form.kind, error: toEvidenceError(error) }]
  }
}

interface EntryContext {
  readonly form: EvidenceFormat
  readonly claim: EvidenceClaim
  readonly deps: EvidenceDeps
}

async function verifyEntry(entry: CarriedEntry, { form, claim, deps }: EntryContext): Promise<EvidenceOutcome> {
  let evidence: UnverifiedEvidence | undefined
  try {
    if (entry instanceof EvidenceError) throw entry
    evidence = form.read(entry, claim)
    await checkEvidence(evidence, claim, deps)
    return { kind: form.kind, evidence }
  } catch (error) {
    return { kind: form.kind, evidence, error: toEvidenceError(error) }
  }
}

/** Marks the evidence of one message as used together, because its entries may share a key. */
async function consumeEvidence(
  checkedOutcomes: readonly EvidenceOutcome[],
  claim: EvidenceClaim,
  useEvidence: UseEvidence,
): Promise<readonly EvidenceOutcome[]> {
  const usesByKey = new Map<string, Promise<boolean>>()
  const consume = async (outcome: EvidenceOutcome): Promise<EvidenceOutcome> => {
    const { evidence, error: fault } = outcome
    if (!evidence || fault) return outcome
    const use = usesByKey.get(evidence.replayKey) ?? useEvidence(evidence, claim)
    usesByKey.set(evidence.replayKey, use)
    return (await use) ? outcome : { ...outcome, error: new EvidenceError('replayed', 'it was used before') }
  }
  return Promise.all(checkedOutcomes.map(consume))
}

function logRejectedEvidence(
  { kind, evidence, error: fault }: EvidenceOutcome,
  { audience }: EvidenceClaim,
  { log }: Pick<DocumentSystem, 'log'>,
): void {
  if (!fault) return
  const { code, message: reason, cause } = fault
  const issuer = evidence?.assertion.issuer
  const fields = { kind, code, reason, issuer, audience, ...(cause !== undefined && { err: cause }) }
  log.info(fields, 'identity evidence left out')
}

/** Converts any error to an `EvidenceError`, which makes only the evidence invalid. */
function toEvidenceError(cause: unknown): EvidenceError {
  return cause instanceof EvidenceError ? cause : new EvidenceError('malformed', 'it cannot be read', { cause })
}

function toEvidenceResult(outcomes: readonly EvidenceOutcome[]): EvidenceResult {
  return {
    accepted: outcomes.flatMap(({ evidence, error: fault }) => (evidence && !fault ? [evidence.render()] : [])),
    left_out: outcomes.flatMap(({ kind, evidence, error: fault }) =>
      fault ? [{ kind, code: fault.code, reason: fault.message, issuer: evidence?.assertion.issuer }] : [],
    ),
    proofs: outcomes.flatMap(({ kind, evidence, error: fault }) => {
      if (fault) return [describeRejectedEvidence(kind, fault, evidence)]
      return evidence ? [describeAcceptedEvidence(kind, evidence)] : []
    }),
  }
}

const extensionVersions = [
  {
    uri: 'https://mentionable.dev/ns/identity/v0.1',
    description: 'Identity evidence of trusted issuers is verified and given to the agent.',
    coversIssuer: (issuer: string) => !issuer.startsWith('did:'),
  },
  {
    uri: 'https://mentionable.dev/ns/identity/v0.2',
    description: 'Verifiable credentials of trusted issuers are verified and given to the agent.',
    coversIssuer: (issuer: string) => issuer.startsWith('did:'),
  },
] as const

/** Lists the extension versions of trusted issuers. Without a trusted issuer, the extension is not active. */
function listIdentityExtensions({ trusted_issuers }: Pick<IdentityConfig, 'trusted_issuers'>) {
  return extensionVersions
    .filter(({ coversIssuer }) => trusted_issuers.some(({ issuer }) => coversIssuer(issuer)))
    .map(({ uri, description }) => ({ uri, description }))
}
