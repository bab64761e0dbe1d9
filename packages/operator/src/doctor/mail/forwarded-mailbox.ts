// Warns of a mailbox that forwards its mail to an agent, which does not get it.
import type { DoctorDeps } from '../deps.ts'
import type { CheckOutcome } from '../report.ts'

const dayMs = 86_400_000
/** The minimum number of people. Fewer do not indicate a forwarded mailbox, because blind copies occur. */
const minPeople = 3
const subject = 'email.answer_bcc'

/** Warns if mail of several proven people names no agent in To or Cc, and so reached none. */
export async function checkForwardedMailbox({ config, gateway, now }: DoctorDeps): Promise<CheckOutcome> {
  if (config.email.answer_bcc || !gateway)
    return { subject, verdict: 'ok', message: 'agents get mail that a mailbox forwards to them' }
  const since = new Date(now() - 7 * dayMs).toISOString()
  const forwardedMessages = await gateway.store.listMessages({
    channel: 'email',
    flag: 'not_addressed',
    since,
    limit: 100,
  })
  const people = new Set(forwardedMessages.flatMap(({ verified, sender }) => (verified ? [sender] : [])))
  if (people.size < minPeople)
    return { subject, verdict: 'ok', message: 'no mailbox seems to forward its mail to an agent' }
  return {
    subject,
    verdict: 'warning',
    message: `${people.size} proven people wrote mail in the last 7 days that names the agent neither in To nor in Cc, as from a forwarded mailbox; agents got none of it`,
    fix: 'Set email.answer_bcc to true if a mailbox forwards its mail to an agent. List such mail with: npx postern messages --flag not_addressed.',
  }
}
