// Verifies all identity evidence of a message; valid evidence becomes an identity of its sender.

import { toConfigured } from '@postern/message'
import type { EvidenceCaller, EvidenceClaim, EvidenceResult, IdentityVerifier, OnceStore } from '@postern/pipeline'
import type { IdentityConfig } from './config.ts'
import { attestationForm } from './connector/attestation.ts'
import { credentialForm } from './credential/credential.ts'
import type { CarriedEntry, UseEvidence } from './evidence/evidence-uses.ts'
import { createEvidenceUses, describeAccepted, describeRejected, readCarrier } from './evidence/evidence-uses.ts'
import type { EvidenceForm, UnverifiedEvidence } from './evidence/trust.ts'
import type { DocumentSystem, EvidenceDeps } from './evidence/verify.ts'
import { checkEvidence, createDocumentCache } from './evidence/verify.ts'
import { EvidenceFault } from './format/members.ts'

const forms: readonly EvidenceForm[] = [attestationForm, credentialForm]

interface IdentityDeps {
  readonly system: DocumentSystem
  /** Stores used evidence for all processes. */
  readonly store: OnceStore
}

/** The result for one entry of a carrier. */
interface Outcome {
  readonly kind: EvidenceForm['kind']
  readonly evidence?: UnverifiedEvidence | undefined
  readonly fault?: EvidenceFault | undefined
}

/** Opens the verifier of forwarded evidence (MN-6.4, MN-6.5). Valid evidence becomes an identity; invalid evidence is left out and logged. */
export function openIdentity(config: IdentityConfig, { system, store }: IdentityDeps): IdentityVerifier {
  const deps: EvidenceDeps = { config, system, documents: createDocumentCache(toConfigured(system)) }
  const useEvidence = createEvidenceUses(store)
  return {
    extensions: listIdentityExtensions(config),
    async verify(claim) {
      const checkedOutcomes = await Promise.all(forms.flatMap(form => verifyForm(form, claim, deps)))
      const outcomes = await consumeEvidence(checkedOutcomes, claim, useEvidence)
      for (const outcome of outcomes) logFault(outcome, claim, system)
      return toEvidenceResult(outcomes)
    },
    isConnector: ({ issuer, subject }: EvidenceCaller) =>
      config.connectors.some(connector => connector.issuer === issuer && connector.subject === subject),
  }
}

function verifyForm(
  form: EvidenceForm,
  claim: EvidenceClaim,
  deps: EvidenceDeps,
): readonly (Promise<Outcome> | Outcome)[] {
  const carrier = claim.carriers[form.carrier]
  if (carrier === undefined || carrier === null) return []
  try {
    return readCarrier(carrier).map(entry => verifyEntry(form, entry, claim, deps))
  } catch (error) {
    return [{ kind: form.kind, fault: toFault(error) }]
  }
}

async function verifyEntry(
  form: EvidenceForm,
  entry: CarriedEntry,
  claim: EvidenceClaim,
  deps: EvidenceDeps,
): Promise<Outcome> {
  let evidence: UnverifiedEvidence | undefined
  try {
    if (entry instanceof EvidenceFault) throw entry
    evidence = form.read(entry, claim)
    await checkEvidence(evidence, claim, deps)
    return { kind: form.kind, evidence }
  } catch (error) {
    return { kind: form.kind, evidence, fault: toFault(error) }
  }
}

/** Marks the evidence of one message as used together, because its entries may share a key. */
async function consumeEvidence(
  checkedOutcomes: readonly Outcome[],
  claim: EvidenceClaim,
  useEvidence: UseEvidence,
): Promise<readonly Outcome[]> {
  const usesByKey = new Map<string, Promise<boolean>>()
  const consume = async (outcome: Outcome): Promise<Outcome> => {
    const { evidence, fault } = outcome
    if (!evidence || fault) return outcome
    const use = usesByKey.get(evidence.replayKey) ?? useEvidence(evidence, claim)
    usesByKey.set(evidence.replayKey, use)
    return (await use) ? outcome : { ...outcome, fault: new EvidenceFault('replayed', 'it was used before') }
  }
  return Promise.all(checkedOutcomes.map(consume))
}

function logFault(
  { kind, evidence, fault }: Outcome,
  { audience }: EvidenceClaim,
  { log }: Pick<DocumentSystem, 'log'>,
): void {
  if (!fault) return
  const { code, message: reason, cause } = fault
  const issuer = evidence?.assertion.issuer
  const fields = { kind, code, reason, issuer, audience, ...(cause !== undefined && { err: cause }) }
  log.info(fields, 'identity evidence left out')
}

/** Converts any failure to a fault, which makes only the evidence invalid. */
function toFault(cause: unknown): EvidenceFault {
  return cause instanceof EvidenceFault ? cause : new EvidenceFault('malformed', 'it cannot be read', { cause })
}

function toEvidenceResult(outcomes: readonly Outcome[]): EvidenceResult {
  return {
    accepted: outcomes.flatMap(({ evidence, fault }) => (evidence && !fault ? [evidence.render()] : [])),
    left_out: outcomes.flatMap(({ kind, evidence, fault }) =>
      fault ? [{ kind, code: fault.code, reason: fault.message, issuer: evidence?.assertion.issuer }] : [],
    ),
    proofs: outcomes.flatMap(({ kind, evidence, fault }) => {
      if (fault) return [describeRejected(kind, fault, evidence)]
      return evidence ? [describeAccepted(kind, evidence)] : []
    }),
  }
}

const versions = [
  {
    uri: 'https://mentionable.dev/ns/identity/v0.1',
    description: 'Identity evidence of trusted issuers is verified and given to the agent.',
    isOf: (issuer: string) => !issuer.startsWith('did:'),
  },
  {
    uri: 'https://mentionable.dev/ns/identity/v0.2',
    description: 'Verifiable credentials of trusted issuers are verified and given to the agent.',
    isOf: (issuer: string) => issuer.startsWith('did:'),
  },
] as const

/** Lists the extension versions of trusted issuers. Without a trusted issuer, the extension is not active. */
function listIdentityExtensions({ trusted_issuers }: Pick<IdentityConfig, 'trusted_issuers'>) {
  return versions
    .filter(({ isOf }) => trusted_issuers.some(({ issuer }) => isOf(issuer)))
    .map(({ uri, description }) => ({ uri, description }))
}
