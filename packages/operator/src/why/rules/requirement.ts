// Explains messages that wait for consent, a payment, an identity or an operator.
import type { WhyFacts } from '../facts.ts'
import type { Fix, Rule } from '../reason.ts'
import { formatUtcTime } from '../reason.ts'

type Requirement = WhyFacts['requirements'][number]

/** The words for each kind of requirement. */
const kinds: Readonly<Record<string, { readonly code: string; readonly requirementName: string }>> = {
  consent_required: { code: 'waiting_for_consent', requirementName: 'consent' },
  payment_required: { code: 'waiting_for_payment', requirementName: 'payment' },
  unauthorized: { code: 'waiting_for_authentication', requirementName: 'authentication' },
}

/** Explains a requirement that is undecided, declined or expired. */
export const openRequirement: Rule<WhyFacts> = ({ requirements, message, now }) => {
  const openRequirement = requirements.find(({ status }) => status === 'open')
  if (openRequirement) {
    const { code, requirementName: what } = kinds[openRequirement.kind] ?? {
      code: 'waiting_for_decision',
      requirementName: openRequirement.kind,
    }
    const person = openRequirement.isForOperator ? 'an operator' : openRequirement.address
    return {
      code: openRequirement.isForOperator ? 'waiting_for_operator' : code,
      sentence: `Waits for ${what} of ${person} since ${formatUtcTime(openRequirement.issuedAt, now)}, until ${formatUtcTime(openRequirement.expiresAt, now)}`,
      since: openRequirement.issuedAt,
      evidence: [{ at: openRequirement.issuedAt, fact: `requirement ${openRequirement.id} (${openRequirement.kind})` }],
      fix: writeOpenFix(openRequirement),
    }
  }
  const closedRequirement = requirements.find(({ status }) => status === 'expired' || status === 'declined')
  if (!closedRequirement || requirements.some(({ status }) => status === 'granted')) return undefined
  const { requirementName: what } = kinds[closedRequirement.kind] ?? { requirementName: closedRequirement.kind }
  const decidedAt =
    closedRequirement.status === 'declined'
      ? (closedRequirement.resolvedAt ?? closedRequirement.issuedAt)
      : Math.min(closedRequirement.expiresAt, now)
  return {
    code: `requirement_${closedRequirement.status}`,
    sentence: `Asked for ${what} and not continued: it ${closedRequirement.status === 'declined' ? 'was declined' : 'ran out'} at ${formatUtcTime(decidedAt, now)}`,
    since: decidedAt,
    evidence: [
      {
        at: closedRequirement.issuedAt,
        fact: `requirement ${closedRequirement.id} (${closedRequirement.kind}) of ${message.agent}`,
      },
    ],
    fix: { text: 'The sender has to ask again.' },
  }
}

/** Returns the fix. Only the sender can consent; an operator may confirm a payment or an identity. */
function writeOpenFix({ id, kind, isForOperator }: Requirement): Fix {
  if (kind === 'consent_required' && !isForOperator) {
    return {
      text: 'Only the sender can consent, by the link or the button in the answer.',
      command: `npx postern requirements show ${id}`,
    }
  }
  return { text: 'Decide it, or wait for the sender.', command: `npx postern requirements grant ${id}` }
}
