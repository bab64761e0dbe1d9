// Runs the steps that its text lists, such as calls to other agents and notes.
import type { NormalizedMessage, Part } from '@postern/message'
import type { AgentContext, AgentNote } from '@postern/pipeline'

/** A step: call an agent, record a note, report the history that the agent sees, or fail. */
interface Step {
  readonly ask?: string
  readonly say?: string
  readonly broadcast?: boolean
  readonly phase?: number
  readonly previous?: number
  /** True if the call continues the conversation of the last call to the same agent. */
  readonly again?: boolean
  readonly note?: AgentNote
  readonly tell?: 'history'
  readonly fail?: string
}

type Contexts = Map<string, string | undefined>

/**
 * Runs the steps of the message's text and answers with their results. The text is a JSON list whose inner lists run concurrently. The agent
 * confirms any other text as done.
 */
export async function handle(message: NormalizedMessage, context: AgentContext): Promise<string> {
  const text = wordsOf(message.parts)
  if (!text.startsWith('[')) return `${message.recipient} has done: ${text}`
  const texts: string[] = []
  const contexts: Contexts = new Map()
  for (const step of JSON.parse(text) as readonly (Step | readonly Step[])[]) {
    const steps = Array.isArray(step) ? (step as readonly Step[]) : [step as Step]
    texts.push(...(await Promise.all(steps.map(step => runStep(step, context, contexts)))).filter(Boolean))
  }
  return texts.join('\n') || 'nothing'
}

async function runStep(step: Step, context: AgentContext, contexts: Contexts): Promise<string> {
  if (step.note) context.note(step.note)
  if (step.fail !== undefined) throw new Error(step.fail)
  if (step.tell)
    return JSON.stringify(context.history().turns.map(({ role, sender, parts }) => [role, sender.address, parts]))
  return step.ask === undefined ? '' : callAgent(step.ask, step, context, contexts)
}

async function callAgent(address: string, step: Step, { call }: AgentContext, contexts: Contexts): Promise<string> {
  const { say = '', broadcast, phase: phaseId, previous: previousPhaseId, again } = step
  const contextId = again ? contexts.get(address) : undefined
  try {
    const answer = await call(address, say, { broadcast, phaseId, previousPhaseId, contextId })
    contexts.set(address, answer.contextId)
    return wordsOf(answer.parts)
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`
  }
}

function wordsOf(parts: readonly Part[]): string {
  return parts.map(part => (part.kind === 'text' ? part.content : '')).join('')
}
