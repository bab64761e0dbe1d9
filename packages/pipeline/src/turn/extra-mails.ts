// Plans the mails beside an answer: the copy for a linked mailbox, and notices to operators.
import type { Part } from '@postern/message'
import { hasRequirements, isoTime, makeId } from '@postern/message'
import { storeFilesFor } from '../actions/act-plan.ts'
import { planDirectMessage } from '../actions/direct-message.ts'
import { isPresentable } from '../history/result-parts.ts'
import { readPersonIdentity, showPersonAddress } from '../people/person-identity.ts'
import type { Channel } from '../ports/channel/channel.ts'
import type { PersonAddress } from '../ports/records/people/person.ts'
import type { PlannedRequirement } from '../ports/records/requirement-record.ts'
import type { PlannedAction } from '../ports/records/work/answer.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { RunningAgent } from '../ports/turn/running-agent.ts'
import type { TurnContext } from '../ports/turn/turn-context.ts'
import type { PlannedAnswer } from './answer/plan-answer.ts'

/**
 * Plans a copy of an answer, as a separate mail to the mailbox that its reader has linked. It is stored with the answer, so it is sent only once. An
 * answer with a requirement that only the reader may decide is not copied.
 */
export async function planLinkedCopy(
  turn: Turn,
  { response }: Partial<PlannedAnswer>,
  turnContext: TurnContext,
  { people }: Pick<RunningAgent, 'people'>,
): Promise<readonly PlannedAction[]> {
  if (!people?.link || people.mail === 'none' || !response) return []
  const mail = turnContext.channels.find(({ descriptor }) => descriptor.speaker.isMailbox)
  if (!mail || turn.via === mail.descriptor.name) return []
  if (people.mail === 'decided' && turn.content.policy_resolution?.approver !== 'operator') return []
  const parts = response.parts.filter(isPresentable)
  if (response.status !== 'completed' || parts.length === 0 || hasRequirements(response.parts)) return []
  const identity = readPersonIdentity(turn.content, turn.flags, turnContext.channels)
  const person = identity && (await turnContext.store.findPerson(turn.agent, identity))
  const mailbox = person?.addresses.find(({ via, subject }) => via === mail.descriptor.name && subject !== undefined)
  return identity && mailbox
    ? planMailCopy({ channel: mail, mailbox, parts, asker: identity, subject: response.subject }, turn, turnContext)
    : []
}

interface MailCopy {
  readonly channel: Channel
  /** The linked mailbox that gets the copy. */
  readonly mailbox: PersonAddress
  readonly parts: readonly Part[]
  readonly asker: PersonAddress
  readonly subject: string | undefined
}

function planMailCopy(
  { channel, mailbox, parts, asker, subject }: MailCopy,
  turn: Turn,
  turnContext: TurnContext,
): readonly PlannedAction[] {
  const { channels, system } = turnContext
  const content = `Answer to what you wrote as ${showPersonAddress(asker, channels)}:`
  const storedFiles = storeFilesFor(channel, [{ kind: 'text', mime: 'text/plain', content }, ...parts], turnContext)
  const directMessage = {
    id: makeId(system),
    channel,
    to: mailbox.address,
    ...storedFiles,
    subject: subject ?? `An answer of ${turn.content.recipient}`,
    flag: 'linked_copy',
    author: asker.subject,
    scope: channel.conversations?.privateScope?.(mailbox.subject ?? ''),
  } as const
  const addressNotice = channel.actions?.addressNotice
  const act = addressNotice && planDirectMessage(directMessage, turn, addressNotice, system)
  return act ? [act] : []
}

/**
 * Plans the mails to operators who have to decide. They are stored with the answer that contains the requirement. They do not say who asked, or for
 * what: only the page behind their link does, and it disappears with the requirement.
 */
export function planOperatorNotices(
  requirements: readonly PlannedRequirement[],
  turn: Turn,
  turnContext: TurnContext,
): readonly PlannedAction[] {
  return requirements.flatMap(requirement => {
    if (requirement.notify === undefined) return []
    const act = planOperatorNotice({ ...requirement, mailbox: requirement.notify }, turn, turnContext)
    if (act) return [act]
    const fields = { correlation_id: turn.correlationId, agent: turn.agent }
    turnContext.system.log.warn(
      fields,
      'an operator cannot be told by mail that there is something to decide; is the address in "write_to"?',
    )
    return []
  })
}

function planOperatorNotice(
  { id: requirement, policy: { kind, title }, expiresAt, mailbox }: PlannedRequirement & { readonly mailbox: string },
  turn: Turn,
  { channels, system }: TurnContext,
): PlannedAction | undefined {
  const channel = channels.find(({ descriptor }) => descriptor.speaker.isMailbox)
  const addressDirectMessage = channel?.actions?.addressDirectMessage
  if (!addressDirectMessage) return undefined
  const { recipient } = turn.content
  const message = `${recipient} waits for your word. Who asked, and for what, is shown where you decide.`
  const noticePolicy = {
    kind,
    requirement,
    message,
    title,
    action_label: 'Look and decide',
    expires_at: isoTime(expiresAt),
  }
  const directMessage = {
    id: makeId(system),
    channel,
    to: `@${mailbox}`,
    parts: [{ kind: 'policy', policy: noticePolicy }],
    subject: title ?? `${recipient} waits for your word`,
    flag: 'operator_notice',
  } as const
  return planDirectMessage(directMessage, turn, addressDirectMessage, system)
}
