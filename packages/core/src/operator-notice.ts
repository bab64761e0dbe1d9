import type { PlannedDemand } from './demand.ts'
import { createOccasion } from './occasion.ts'
import { toPlanned } from './plan-acts.ts'
import type { NormalizedResponse } from './response.ts'
import type { PlannedAct, Turn } from './work.ts'
import type { Working } from './working.ts'
import { isoTime, randomHex } from './world.ts'

/**
 * Mails to operators who have to decide: durable with the answer that demands it. They say nothing of who asked, nor what for: that is on the
 * page that their link leads to, and goes with it.
 */
export function planOperatorNotices(
  demands: readonly PlannedDemand[],
  turn: Turn,
  working: Working,
): readonly PlannedAct[] {
  return demands.flatMap(demand => {
    const act = demand.notify === undefined ? undefined : planOperatorNotice(demand, demand.notify, turn, working)
    if (demand.notify !== undefined && !act) {
      const fields = { correlation_id: turn.correlationId, agent: turn.agent }
      working.world.log.warn(
        fields,
        'an operator cannot be told by mail that he has to decide; is he in email.write_to?',
      )
    }
    return act ?? []
  })
}

function planOperatorNotice(
  { id: demand, policy, expiresAt }: PlannedDemand,
  mailbox: string,
  { agent, content }: Turn,
  { findChannel, world }: Working,
): PlannedAct | undefined {
  const id = randomHex(world, 16)
  const response: NormalizedResponse = {
    id,
    thread_id: id,
    in_reply_to: `post:${id}`,
    sender: content.recipient,
    parts: [
      {
        kind: 'policy',
        policy: {
          kind: policy.kind,
          demand,
          message: `${content.recipient} waits for your word. Who asked, and for what, is shown where you decide.`,
          title: policy.title,
          action_label: 'Look and decide',
          expires_at: isoTime(expiresAt),
        },
      },
    ],
    status: 'completed',
    mentions: [`@${mailbox}`],
    visibility: 'direct',
    subject: policy.title ?? `${content.recipient} waits for your word`,
    created_at: isoTime(world.now()),
  }
  const addressing = findChannel('email')?.addressLetter?.({ act: 'post', agent, response })
  if (!addressing) return undefined
  const { in_reply_to, created_at } = response
  const place = { agent, address: content.recipient, via: 'email', scope: in_reply_to, threadId: id } as const
  const occasion = createOccasion({ ...place, id: in_reply_to, at: created_at, flag: 'operator_notice' })
  const { aliases, rendering } = addressing
  return { kind: 'post', occasion, answer: { response, aliases, rendering, ...toPlanned(addressing) } }
}
