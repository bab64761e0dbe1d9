// Explains messages that wait for consent, a payment, an identity or an operator.
import type { WhyFacts } from '../facts.ts'
import type { Fix, Rule } from '../reason.ts'
import { formatUtcTime } from '../reason.ts'

type Requirement = WhyFacts['requirements'][number]

/** The words for each kind of requirement. */
const kinds: Readonly<Record<string, { readonly code: string; readonly what: string }>> = {
  consent_required: { code: 'waiting_for_consent', what: 'consent' },
  payment_required: { code: 'waiting_for_payment', what: 'payment' },
  unauthorized: { code: 'waiting_for_authentication', what: 'authentication' },
}

/** Explains a requirement that is undecided, declined or expired. */
export const openRequirement: Rule<WhyFacts> = ({ requirements, message, now }) => {
  const open = requirements.find(({ status }) => status === 'open')
  if (open) {
    const { code, what } = kinds[open.kind] ?? { code: 'waiting_for_decision', what: open.kind }
    const person = open.isForOperator ? 'an operator' : open.address
    return {
      code: open.isForOperator ? 'waiting_for_operator' : code,
      sentence: `Waits for ${what} of ${person} since ${formatUtcTime(open.issuedAt, now)}, until ${formatUtcTime(open.expiresAt, now)}`,
      since: open.issuedAt,
      evidence: [{ at: open.issuedAt, fact: `requirement ${open.id} (${open.kind})` }],
      fix: fixOpen(open),
    }
  }
  const over = requirements.find(({ status }) => status === 'expired' || status === 'declined')
  if (!over || requirements.some(({ status }) => status === 'granted')) return undefined
  const { what } = kinds[over.kind] ?? { what: over.kind }
  const decidedAt = over.status === 'declined' ? (over.resolvedAt ?? over.issuedAt) : Math.min(over.expiresAt, now)
  return {
    code: `requirement_${over.status}`,
    sentence: `Asked for ${what} and not continued: it ${over.status === 'declined' ? 'was declined' : 'ran out'} at ${formatUtcTime(decidedAt, now)}`,
    since: decidedAt,
    evidence: [{ at: over.issuedAt, fact: `requirement ${over.id} (${over.kind}) of ${message.agent}` }],
    fix: { text: 'The sender has to ask again.' },
  }
}

/** Returns the fix. Only the sender can consent; an operator may confirm a payment or an identity. */
function fixOpen({ id, kind, isForOperator }: Requirement): Fix {
  if (kind === 'consent_required' && !isForOperator) {
    return {
      text: 'Only the sender can consent, by the link or the button in the answer.',
      command: `npx postern requirements show ${id}`,
    }
  }
  return { text: 'Decide it, or wait for the sender.', command: `npx postern requirements grant ${id}` }
}
