import type { World } from '@postern/core'
import type { SwarmCommits } from './swarm-commits.ts'
import type { AgentSpec, ModelAnswer, RescueStrategy, SwarmTexts } from './swarm-spec.ts'

const markup =
  /<\/?(?:tool_call|function_call|tool_response|\|?(?:python_tag|tool▁calls?)[^>]*)\|?>|\btool_calls?\b\s*[:=[]/i
const braces = /[{}]/

/** Why an answer of a model must not reach a user as it is; `undefined` for a good one. */
export function findAnswerFault(
  { content, tool_calls = [] }: ModelAnswer,
  toolNames: ReadonlySet<string>,
): string | undefined {
  if (tool_calls.some(({ function: called }) => !toolNames.has(called.name))) return 'unknown tool'
  if (tool_calls.length > 0) return undefined
  if (content.trim() === '') return 'empty output'
  if (markup.test(content)) return 'tool markup in output'
  return braces.test(content) ? 'braces in output' : undefined
}

export interface Rescue {
  readonly agent: AgentSpec
  readonly commits: Pick<SwarmCommits, 'commitRescue' | 'commitUserMessage'>
  readonly texts: SwarmTexts
  readonly toolNames: ReadonlySet<string>
  readonly lastUserMessage: string
  readonly world: Pick<World, 'randomBytes'>
  /** Asks the model again, with the history as it is then. */
  ask(): Promise<ModelAnswer>
}

type Strategy = (rescue: Rescue, reason: string) => Promise<ModelAnswer>

const strategies: Record<RescueStrategy, Strategy> = {
  recomplete: ({ ask }) => ask(),
  async custom({ agent, ask }, reason) {
    return await (agent.customRescue?.(reason) ?? ask())
  },
  async flush({ agent: { agentName }, commits, texts, ask, lastUserMessage }, reason) {
    await commits.commitRescue(reason, { agentName })
    // The rescue cuts the history, and what the user said with it.
    await commits.commitUserMessage(`${texts.restart}\n\n${lastUserMessage}`, 'tool', { agentName })
    return await ask()
  },
}

/** A good answer in place of a bad one: by the agent's strategy, else a polite placeholder. Never what the model said at first. */
export async function rescueAnswer(rescue: Rescue, reason: string): Promise<ModelAnswer> {
  const answer = await strategies[rescue.agent.rescue ?? 'flush'](rescue, reason).catch(() => undefined)
  if (answer && findAnswerFault(answer, rescue.toolNames) === undefined) return answer
  return { content: pickPlaceholder(rescue) }
}

function pickPlaceholder({ texts: { placeholders }, world }: Rescue): string {
  const [byte = 0] = world.randomBytes(1)
  return placeholders[byte % placeholders.length] ?? ''
}
