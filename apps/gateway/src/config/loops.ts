// Reads the limits that keep agents from talking to each other without end from the configuration.
import type { LoopLimits } from '@postern/message'
import type { MentionFanoutLimits } from '@postern/pipeline'
import { defaultCallsPerMessage } from '@postern/pipeline'
import { z } from 'zod'

const createCountSchema = (defaultCount: number) => z.int().positive().default(defaultCount)

/** Limits that end conversations of agents with each other. They hold by default, in dev mode too. */
export const loopConfigSchema = z.strictObject({
  /** Agents that may pass a message on to each other, whatever a peer says. */
  max_hops: createCountSchema(5),
  /** Calls of agents that one message may cause, with those that the called agents make for it. */
  calls_per_message: createCountSchema(defaultCallsPerMessage),
  /** Turns of agents in one thread in an hour. */
  agent_turns_per_hour: createCountSchema(10),
  /** Turns of one agent with another in an hour, in whatever threads. */
  pair_turns_per_hour: createCountSchema(60),
  /** Turns of agents in one thread in a row, without a person in between. */
  turns_without_person: createCountSchema(20),
  /** Turns in a row in one thread that say the same. */
  similar_turns: createCountSchema(3),
  /** Agents and people that one answer may wake by mentioning them; 0: none. */
  max_mentions: z.int().min(0).default(10),
  /** Longest time for a joint answer, seconds; an agent that has not answered by then counts as unreachable. */
  mention_seconds: z.number().positive().max(600).default(60),
  /** Agents that the gateway asks at the same time for a joint answer. */
  mention_at_once: createCountSchema(4),
})

type LoopConfig = z.infer<typeof loopConfigSchema>

export function readLoopLimits(config: LoopConfig): LoopLimits {
  return {
    agentTurns: config.agent_turns_per_hour,
    pairTurns: config.pair_turns_per_hour,
    turnsWithoutPerson: config.turns_without_person,
    similarTurns: config.similar_turns,
  }
}

export function readMentionFanoutLimits({
  max_mentions,
  mention_at_once,
  mention_seconds,
}: LoopConfig): MentionFanoutLimits {
  return { maxMentions: max_mentions, concurrency: mention_at_once, timeoutMs: mention_seconds * 1000 }
}
