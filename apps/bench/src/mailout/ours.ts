// Runs the gateway with stored mail that its agent answers.
import type { Intake } from '@postern/pipeline'
import type { MailOrder, MailOutSetup } from '../orders/mailout.ts'
import { personOf } from '../orders/mailout.ts'
import { gatewayHost } from '../ours/open.ts'
import { runSendingGateway } from '../ours/sending.ts'

const agent = 'scribe'

/** Runs the gateway with mail in its store that its agent answers. */
await runSendingGateway<MailOutSetup, MailOrder>(({ port }) => ({
  config: { email: { submit: { host: '127.0.0.1', port } } },
  async admit(store, { first, count }) {
    const numbers = Array.from({ length: count }, (_, index) => first + index)
    await Promise.all(numbers.map(sequenceNumber => store.admit(makeMail(sequenceNumber), `bench-${sequenceNumber}`)))
    return count
  },
}))

/** Makes a mail in the form in which the email channel admits it. */
function makeMail(sequenceNumber: number): Intake {
  const person = personOf(sequenceNumber)
  const id = `question-${sequenceNumber}@people.test`
  return {
    agent,
    message: {
      id,
      thread_source: id,
      sender: { address: `@${person}`, auth_method: 'email-dmarc', verified: true },
      recipient: `@${agent}@${gatewayHost}`,
      parts: [{ kind: 'text', mime: 'text/plain', content: 'When does the last train back from the coast leave?' }],
      recipient_capabilities: { mention_relay: { kind: 'recipient-field', fields: ['to', 'cc'] } },
      received_via: 'email',
      received_at: new Date().toISOString(),
    },
    duplicateKey: id,
    thread: { scope: `v:${person}`, references: [] },
    aliases: [],
    proofs: [{ kind: 'dkim', verdict: 'pass' }],
    raw: { bytes: Buffer.from(`From: ${person}\r\nMessage-ID: <${id}>\r\n\r\nWhen?\r\n`), form: 'text' },
    target: { mailbox: person, subject: 'Last train', message_id: id, references: [], scope: `v:${person}` },
    disposition: 'answer',
  }
}
