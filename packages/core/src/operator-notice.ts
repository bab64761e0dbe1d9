import type { PlannedDemand } from './demand.ts'
import { planOwnLetter } from './own-letter.ts'
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
    if (demand.notify === undefined) return []
    const act = planOperatorNotice(demand, demand.notify, turn, working)
    if (act) return [act]
    const fields = { correlation_id: turn.correlationId, agent: turn.agent }
    working.world.log.warn(fields, 'an operator cannot be told by mail that he has to decide; is he in email.write_to?')
    return []
  })
}

function planOperatorNotice(
  { id: demand, policy: { kind, title }, expiresAt }: PlannedDemand,
  mailbox: string,
  turn: Turn,
  { findChannel, world }: Working,
): PlannedAct | undefined {
  const { recipient } = turn.content
  const message = `${recipient} waits for your word. Who asked, and for what, is shown where you decide.`
  const shown = { kind, demand, message, title, action_label: 'Look and decide', expires_at: isoTime(expiresAt) }
  const letter = {
    id: randomHex(world, 16),
    via: 'email',
    to: `@${mailbox}`,
    parts: [{ kind: 'policy', policy: shown }],
    subject: title ?? `${recipient} waits for your word`,
    flag: 'operator_notice',
  } as const
  const address = findChannel('email')?.addressLetter
  return address && planOwnLetter(letter, turn, address, world)
}
