import { planDirectMessage } from '../actions/direct-message.ts'
import { storeFilesFor } from '../actions/plan-actions.ts'
import { isPresentable } from '../history/history.ts'
import type { Part } from '../message/part.ts'
import { hasRequirements } from '../message/response.ts'
import { readPersonIdentity, showPersonAddress } from '../people/person-identity.ts'
import type { RunningAgent, TurnContext } from '../ports/agent/turn-context.ts'
import type { Channel } from '../ports/channel.ts'
import { isoTime, makeId } from '../ports/platform/platform.ts'
import type { PersonAddress } from '../ports/records/people.ts'
import type { PlannedRequirement } from '../ports/records/requirement-record.ts'
import type { PlannedAction, Turn } from '../ports/records/work.ts'
import type { Said } from './answer.ts'

/**
 * A copy of an answer, as a mail of its own to the mailbox that its reader has linked. It is durable with the answer,
 * and so sent once. Requirements that only the reader may decide are left out: they are shown where the reader asked.
 */
export async function planLinkedCopy(
  turn: Turn,
  { response }: Partial<Said>,
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
    ? copyTo(mail, mailbox, { parts, asker: identity, subject: response.subject }, turn, turnContext)
    : []
}

interface Copied {
  readonly parts: readonly Part[]
  readonly asker: PersonAddress
  readonly subject: string | undefined
}

function copyTo(
  channel: Channel,
  { address: to, subject: principal = '' }: PersonAddress,
  { parts, asker, subject }: Copied,
  turn: Turn,
  turnContext: TurnContext,
): readonly PlannedAction[] {
  const { channels, platform } = turnContext
  const content = `Answer to what you wrote as ${showPersonAddress(asker, channels)}:`
  const stored = storeFilesFor(channel, [{ kind: 'text', mime: 'text/plain', content }, ...parts], turnContext)
  const letter = {
    id: makeId(platform),
    channel,
    to,
    ...stored,
    subject: subject ?? `An answer of ${turn.content.recipient}`,
    flag: 'linked_copy',
    author: asker.subject,
    scope: channel.privateScope?.(principal),
  } as const
  const act = channel.addressNotice && planDirectMessage(letter, turn, channel.addressNotice, platform)
  return act ? [act] : []
}

/**
 * Mails to operators who have to decide: durable with the answer that requirements it. They say nothing of who asked, nor what for: that is on the
 * page that their link leads to, and goes with it.
 */
export function planOperatorNotices(
  requirements: readonly PlannedRequirement[],
  turn: Turn,
  turnContext: TurnContext,
): readonly PlannedAction[] {
  return requirements.flatMap(requirement => {
    if (requirement.notify === undefined) return []
    const act = planOperatorNotice(requirement, requirement.notify, turn, turnContext)
    if (act) return [act]
    const fields = { correlation_id: turn.correlationId, agent: turn.agent }
    turnContext.platform.log.warn(
      fields,
      'an operator cannot be told by mail that there is something to decide; is the address in "write_to"?',
    )
    return []
  })
}

function planOperatorNotice(
  { id: requirement, policy: { kind, title }, expiresAt }: PlannedRequirement,
  mailbox: string,
  turn: Turn,
  { channels, platform }: TurnContext,
): PlannedAction | undefined {
  const channel = channels.find(({ descriptor }) => descriptor.speaker.isMailbox)
  if (!channel?.addressDirectMessage) return undefined
  const { recipient } = turn.content
  const message = `${recipient} waits for your word. Who asked, and for what, is shown where you decide.`
  const shown = { kind, requirement, message, title, action_label: 'Look and decide', expires_at: isoTime(expiresAt) }
  const letter = {
    id: makeId(platform),
    channel,
    to: `@${mailbox}`,
    parts: [{ kind: 'policy', policy: shown }],
    subject: title ?? `${recipient} waits for your word`,
    flag: 'operator_notice',
  } as const
  return planDirectMessage(letter, turn, channel.addressDirectMessage, platform)
}
