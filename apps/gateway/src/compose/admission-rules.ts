import type { AdmissionRule, ChannelName } from '@postern/core'
import { createAccessRule, createLoopRule } from '@postern/core'
import { readLoopLimits } from '../config/loops.ts'
import type { Config } from '../config/schema.ts'
import type { Limits } from '../http/limits.ts'
import { createQueueModeRule } from '../work/queue-modes.ts'

interface AdmissionRuleDeps {
  readonly limits: Pick<Limits, 'messages'>
  /** Whether peers of the channel wait for an answer. */
  answersCalls(via: ChannelName): boolean
}

/** What each message passes before it is stored, in this order. Who may not write to an agent uses up nothing of what others may send. */
export function listAdmissionRules(
  { agents, limits }: Pick<Config, 'agents' | 'limits'>,
  { limits: { messages: rateLimits }, answersCalls }: AdmissionRuleDeps,
): readonly AdmissionRule[] {
  const queueModes = createQueueModeRule(agents)
  const access = createAccessRule(name => agents[name], answersCalls)
  const loops = createLoopRule(readLoopLimits(limits.loop))
  return [queueModes, access, rateLimits, loops]
}
