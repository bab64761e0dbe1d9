import { planDirectMessage } from '../actions/direct-message.ts'
import type { TurnContext } from '../ports/agent/turn-context.ts'
import { isoTime, makeId } from '../ports/platform/platform.ts'
import type { PlannedRequirement } from '../ports/records/requirement-record.ts'
import type { PlannedAction, Turn } from '../ports/records/work.ts'

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
