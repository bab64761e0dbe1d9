// Converts slips into normalized messages.
import { createTransportEvidence, isoTime } from '@postern/message'
import type { AgentDirectory, Intake } from '@postern/pipeline'
import { tickerDescriptor } from './speaker.ts'
import type { ProvenSlip } from './verify.ts'

/** Converts a slip to the form that the store keeps and the agent reads. Pure. */
export function normalizeSlip(slip: ProvenSlip, { domain, find }: Pick<AgentDirectory, 'domain' | 'find'>): Intake[] {
  const { agent, id, from, text, thread, reply, body, provenAt } = slip
  if (!find(agent)) return []
  const recipient = `@${agent}@${domain}`
  const method = 'ticker-seal'
  const issuer = from.slice(from.lastIndexOf('@') + 1)
  const issuedAt = isoTime(provenAt)
  const evidence = { method, subject: from, issuer, assurance: 'address', audience: recipient, issuedAt } as const
  return [
    {
      agent,
      message: {
        id,
        thread_source: thread ?? `${from} ${agent}`,
        sender: { address: from, auth_method: method, verified: true, identities: [createTransportEvidence(evidence)] },
        recipient,
        parts: [{ kind: 'text', mime: 'text/plain', content: text }],
        recipient_capabilities: { mention_relay: tickerDescriptor.mentionRelay },
        received_via: tickerDescriptor.name,
        received_at: issuedAt,
      },
      duplicateKey: `${from} ${id}`,
      thread: { scope: from, references: [] },
      aliases: [],
      proofs: [{ kind: 'other', verdict: 'pass' }],
      raw: { bytes: body, form: 'json' },
      target: { reply },
      disposition: 'answer',
    },
  ]
}
